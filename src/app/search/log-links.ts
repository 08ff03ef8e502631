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
 * A condition that finds a record by the value of a field; undefined if there is none. For example, a record's level may differ from its field
 * `level`, and no search finds a record by its time as text.
 */
export function conditionOfValue(log: Log, field: string, text: string): Condition | undefined {
  if (!canBeNamed(field) || field === datedBy(log.fields as JsonObject)) return undefined
  return besideOwn({ field: oneLine(field), operator: '=', text: oneLine(text) }, ownLogField(field), ownValues(log))
}

/** Links beside the fields of log records that narrow the current search. */
export function createLogLinks(search: Search): (log: Log) => LinksOf {
  const narrow = createNarrow(search)
  return (log) =>
    createValueLinks({ narrow, noun: 'logs', conditionOf: (field, text) => conditionOfValue(log, field, text) })
}

/** Links that begin a new search around the record's time, for pages without a search. */
export const createLogLinksAround =
  (nowMs: number) =>
  (log: Log): LinksOf =>
    createLogLinks({ path: '/app/logs', conditions: conditionsAround(log.timestamp, nowMs), normalized: '' })(log)
