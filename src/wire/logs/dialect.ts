import type { Level } from '#src/events/telemetry.ts'
import type { JsonObject } from '#src/lib/json.ts'
import type { IdsInText } from './ids-in-text.ts'

/**
 * How to read the fields of some loggers, servers or platforms, recognised by the fields around them. Asked only if the usual names (aliases.ts) give
 * nothing. Undefined: the record has none of these formats, or does not give this.
 */
export type Dialect = Readonly<{
  level?: (record: JsonObject) => Level | undefined
  message?: (record: JsonObject) => string | undefined
  service?: (record: JsonObject) => string | undefined
  ids?: (record: JsonObject) => IdsInText | undefined
}>
