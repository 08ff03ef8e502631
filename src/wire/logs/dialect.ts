import type { Level } from '#src/events/telemetry.ts'
import type { JsonObject } from '#src/lib/json.ts'
import type { IdsInText } from './ids-in-text.ts'

/**
 * What some loggers, servers or platforms write in a way of their own, told by what stands beside it. Asked where a record says nothing by
 * the usual names (aliases.ts); undefined: it is of none of them, or says nothing here.
 */
export type Dialect = Readonly<{
  level?: (record: JsonObject) => Level | undefined
  message?: (record: JsonObject) => string | undefined
  service?: (record: JsonObject) => string | undefined
  ids?: (record: JsonObject) => IdsInText | undefined
}>
