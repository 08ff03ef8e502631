import { parseSpanId, parseTraceId } from '#src/events/ids.ts'
import { levelOfWord } from '#src/events/level-word.ts'
import type { LogSearchAnswer } from '#src/query/searches.ts'
import { bareName, besideOwn, canBeNamed, oneLine, type Condition, type Own } from './clause.ts'
import { conditionsAround, createNarrow, type Search } from './narrow.ts'
import { createValueLinks, type LinksOf } from './value-links.ts'

type Log = Pick<
  LogSearchAnswer['logs'][number],
  'timestamp' | 'level' | 'service' | 'trace_id' | 'span_id' | 'session_id'
>

/** What a search compares under these names. */
function ownOf(name: string, log: Log): Own | undefined {
  switch (name) {
    case 'level':
      return { value: log.level, canonical: levelOfWord }
    case 'service':
      return { value: log.service }
    case 'source':
      return { value: null }
    case 'session_id':
      return { value: log.session_id }
    case 'trace_id':
    case 'traceid':
    case 'trace.id':
      return { value: log.trace_id, canonical: parseTraceId }
    case 'span_id':
    case 'spanid':
    case 'span.id':
      return { value: log.span_id, canonical: parseSpanId }
    default:
      return undefined
  }
}

/** What finds this record by a value of one of its fields. A record may be of another level, say, than its field `level` says. */
function conditionOf(log: Log, field: string, value: string): Condition | undefined {
  if (!canBeNamed(field)) return undefined
  const condition = { field: oneLine(field), operator: '=', text: oneLine(value) } as const
  return besideOwn(condition, ownOf(bareName(field), log))
}

/** The links beside the fields of log records: into the search that is shown. */
export function createLogLinks(search: Search): (log: Log) => LinksOf {
  const narrow = createNarrow(search)
  return (log) =>
    createValueLinks({ narrow, noun: 'logs', conditionOf: (field, text) => conditionOf(log, field, text) })
}

/** The links where no search is shown: into one of the record's time. */
export const createLogLinksAround =
  (nowMs: number) =>
  (log: Log): LinksOf =>
    createLogLinks({ path: '/app/logs', conditions: conditionsAround(log.timestamp, nowMs), normalized: '' })(log)
