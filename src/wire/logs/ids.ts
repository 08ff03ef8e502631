import type { Json } from '#src/lib/json.ts'
import { hexOfDecimal } from '#src/events/ids.ts'
import { parseTraceparent, type Traceparent } from '#src/events/traceparent.ts'

const hex = /^[0-9a-f]+$/
const zeros = /^0+$/
const digits = /^\d{1,20}$/
/** OpenTelemetry for Python prints the ids of its own records with this prefix. */
const hexMark = /^0x/

/** An unsigned decimal number as hex, 16 digits if it has 64 bits. Datadog's ids are decimal, and so are ids sent as JSON numbers. */
const decimalId = (text: string): string | undefined => (digits.test(text) ? hexOfDecimal(text) : undefined)

/** The text of an id, as 16 hex digits if it was decimal; undefined if it cannot be an id. */
function idText(value: Json | undefined, decimal: boolean): string | undefined {
  if (typeof value === 'bigint' || typeof value === 'number') return decimalId(String(value))
  if (typeof value !== 'string' || value.length > 64) return undefined
  const text = value.trim().replaceAll('-', '').toLowerCase()
  if (decimal && digits.test(text)) return decimalId(text)
  const bare = text.replace(hexMark, '')
  return hex.test(bare) && !zeros.test(bare) ? bare : undefined
}

/** Whether ids under this name are decimal: those of Datadog are. */
export const isDecimal = (name: string): boolean => name.startsWith('dd.')

const usualTrace = /^(?!0{32})[0-9a-f]{32}$/
const usualSpan = /^(?!0{16})[0-9a-f]{16}$/

/** Google Cloud writes this before the id of a trace. */
const resourceName = /^projects\/[^/]{1,64}\/traces\//

/** AWS X-Ray writes a trace id in three parts, alone or as in its header. Together they are the id of OpenTelemetry. */
const xray = /^(?:Root=)?1-([\da-f]{8})-([\da-f]{24})(?:;.{0,256})?$/

/**
 * A trace id as 32 lower-case hex digits. Accepts 32 digits with or without dashes and `0x`, X-Ray's form, 16 digits (padded), and a 64-bit number.
 */
export function traceIdOf(value: Json | undefined, decimal = false): string | undefined {
  if (typeof value === 'string' && usualTrace.test(value)) return value
  const text = idText(
    typeof value === 'string' ? value.replace(resourceName, '').replace(xray, '$1$2') : value,
    decimal,
  )
  return text?.length === 32 || text?.length === 16 ? text.padStart(32, '0') : undefined
}

/** A span id as 16 lower-case hex digits. */
export function spanIdOf(value: Json | undefined, decimal = false): string | undefined {
  if (!decimal && typeof value === 'string' && usualSpan.test(value)) return value
  const text = idText(value, decimal)
  return text?.length === 16 ? text : undefined
}

/** The ids of a `traceparent`. Upper case is accepted, as for single ids. */
export const traceparentOf = (value: Json | undefined): Traceparent | undefined =>
  typeof value === 'string' && value.length <= 512 ? parseTraceparent(value.toLowerCase()) : undefined

/**
 * An opaque session id. Undefined if it is empty, longer than `charactersMax`, or neither text nor number. A longer one is not cut: two sessions
 * could become one.
 */
export function sessionIdOf(value: Json | undefined, charactersMax: number): string | undefined {
  const text = typeof value === 'number' || typeof value === 'bigint' ? String(value) : value
  if (typeof text !== 'string' || text.trim() === '') return undefined
  return text.length <= charactersMax ? text.toWellFormed() : undefined
}
