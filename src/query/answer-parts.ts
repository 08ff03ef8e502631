import { z } from 'zod'
import { levels } from '#src/events/telemetry.ts'

type DeepReadonly<T> = T extends readonly (infer Item)[]
  ? readonly DeepReadonly<Item>[]
  : T extends object
    ? { readonly [Name in keyof T]: DeepReadonly<T[Name]> }
    : T

/** A handler's answer, typed by the schema that documents it. */
export type AnswerOf<Schema extends z.ZodType> = DeepReadonly<z.input<Schema>>

// Schemas that answers are made of. `meta.id` is the schema's name in the OpenAPI document.

export const timestamp = z
  .string()
  .regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z$/)
  .meta({ id: 'Timestamp', description: 'RFC 3339, UTC, nine digits of fraction.' })

export const int64 = z
  .string()
  .regex(/^-?\d{1,19}$/)
  .meta({ id: 'Int64', description: 'A 64-bit integer in decimal.' })

export const count = z.number().int().min(0)
export const traceId = z.string().regex(/^[0-9a-f]{32}$/)
export const spanId = z.string().regex(/^[0-9a-f]{16}$/)

export const cursor = z
  .string()
  .nullable()
  .meta({ id: 'Cursor', description: 'Give it back as `cursor` with the same query; null: there is no more.' })

/** Free fields as received; integers of any size are JSON numbers with all their digits. */
export const freeFields = z.record(z.string(), z.unknown()).meta({
  id: 'FreeFields',
  description: 'As received. Integers are JSON numbers with their exact digits, also beyond 2^53.',
})

export const indexState = z.object({ position: count, head: count, lag_ms: count, complete: z.boolean() }).meta({
  id: 'IndexState',
  description:
    'How far the index had followed the log when the query ran. What was acknowledged at or below `position` is in the answer, if it is `complete`; not if the index lags, has lost a day, or leaves out an event that it cannot take.',
})

export const range = z
  .object({ from: timestamp.nullable(), to: timestamp.nullable() })
  .meta({ id: 'Range', description: 'The time range as resolved: from inclusive, to exclusive; null: open.' })

export const query = z.object({ normalized: z.string(), warnings: z.array(z.string()) }).meta({
  id: 'Query',
  description: 'The search as it was understood; the normalized text means the same.',
})

export const facets = z
  .array(z.object({ field: z.string(), values: z.array(z.object({ value: z.string(), count })) }))
  .meta({ id: 'Facets', description: 'The most frequent values of some fields, at most 20 each.' })

export const andLater = z.literal(true).optional().meta({
  description:
    'The last bucket of a range without an end: all that is dated then or later, when some of it is more than a day ahead of the clock.',
})

export const level = z.enum(levels)

export const logItem = z
  .object({
    id: z.string(),
    timestamp,
    level: level.nullable(),
    message: z.string(),
    service: z.string().nullable(),
    trace_id: traceId.nullable(),
    span_id: spanId.nullable(),
    session_id: z.string().nullable(),
    fields: freeFields,
    cuts: z.array(z.string()).optional().meta({
      description: 'What was changed or left out to make the record storable, or could not be read; absent: nothing.',
    }),
  })
  .meta({ id: 'LogRecord' })
