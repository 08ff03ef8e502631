import type { JsonObject } from '#src/lib/json.ts'
import type { LogSearchAnswer } from '#src/query/searches.ts'
import { datedBy, ownLogField } from '#projections/logs/query.ts'
import { besideOwn, canBeNamed, oneLine, type Condition, type OwnValues } from './clause.ts'
import { conditionsAround, createNarrow, type Search } from './narrow.ts'
import { createValueLinks, type LinksOf } from './value-links.ts'

type Log = Pick<
  LogSearchAnswer['logs'][number],
  'timestamp' | 'level' | 'service' | 'trace_id' | 'span_id' | 'session_id' | 'fields'
>

const ownValues = (log: Log): OwnValues => ({
  level: log.level,
  service: log.service,
  trace_id: log.trace_id,
  span_id: log.span_id,
  session_id: log.session_id,
})

/**
 * What finds a record by a value of one of its fields; undefined: nothing does. A record may be of another level, say, than its field `level`
 * says, and no search finds one by the text of its time.
 */
export function conditionOfValue(log: Log, field: string, text: string): Condition | undefined {
  if (!canBeNamed(field) || field === datedBy(log.fields as JsonObject)) return undefined
  return besideOwn({ field: oneLine(field), operator: '=', text: oneLine(text) }, ownLogField(field), ownValues(log))
}

/** The links beside the fields of log records: into the search that is shown. */
export function createLogLinks(search: Search): (log: Log) => LinksOf {
  const narrow = createNarrow(search)
  return (log) =>
    createValueLinks({ narrow, noun: 'logs', conditionOf: (field, text) => conditionOfValue(log, field, text) })
}

/** The links where no search is shown: into one of the record's time. */
export const createLogLinksAround =
  (nowMs: number) =>
  (log: Log): LinksOf =>
    createLogLinks({ path: '/app/logs', conditions: conditionsAround(log.timestamp, nowMs), normalized: '' })(log)
