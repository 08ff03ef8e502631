import type { Json } from '#src/lib/json.ts'
import { hexOfDecimal } from '#src/events/ids.ts'
import { parseTraceparent, type Traceparent } from '#src/events/traceparent.ts'

const hex = /^[0-9a-f]+$/
const zeros = /^0+$/
const digits = /^\d{1,20}$/
/** As OpenTelemetry for Python prints ids of its own records. */
const hexMark = /^0x/

/** An unsigned number in decimal (Datadog's ids, or ids sent as JSON numbers) in hex, 16 digits where it has 64 bits. */
const decimalId = (text: string): string | undefined => (digits.test(text) ? hexOfDecimal(text) : undefined)

/** Text of an id, as 16 hex digits when it is decimal; undefined for what cannot be one. */
function idText(value: Json | undefined, decimal: boolean): string | undefined {
  if (typeof value === 'bigint' || typeof value === 'number') return decimalId(String(value))
  if (typeof value !== 'string' || value.length > 64) return undefined
  const text = value.trim().replaceAll('-', '').toLowerCase()
  if (decimal && digits.test(text)) return decimalId(text)
  const bare = text.replace(hexMark, '')
  return hex.test(bare) && !zeros.test(bare) ? bare : undefined
}

/** Whether what stands under this name is in decimal: Datadog's. */
export const isDecimal = (name: string): boolean => name.startsWith('dd.')

const usualTrace = /^(?!0{32})[0-9a-f]{32}$/
const usualSpan = /^(?!0{16})[0-9a-f]{16}$/

/** How Google Cloud names a trace, before its id. */
const resourceName = /^projects\/[^/]{1,64}\/traces\//

/** How AWS X-Ray writes one, which is that of OpenTelemetry in three parts: alone, or as its header has it. */
const xray = /^(?:Root=)?1-([\da-f]{8})-([\da-f]{24})(?:;.{0,256})?$/

/** 32 hex digits in lower case: from 32, with dashes or not, behind `0x` or not, from X-Ray's, from 16 (padded), or from a 64-bit number. */
export function traceIdOf(value: Json | undefined, decimal = false): string | undefined {
  if (typeof value === 'string' && usualTrace.test(value)) return value
  const text = idText(
    typeof value === 'string' ? value.replace(resourceName, '').replace(xray, '$1$2') : value,
    decimal,
  )
  return text?.length === 32 || text?.length === 16 ? text.padStart(32, '0') : undefined
}

/** 16 hex digits in lower case. */
export function spanIdOf(value: Json | undefined, decimal = false): string | undefined {
  if (!decimal && typeof value === 'string' && usualSpan.test(value)) return value
  const text = idText(value, decimal)
  return text?.length === 16 ? text : undefined
}

/** Ids of a `traceparent`; upper case is taken too, as for ids by themselves. */
export const traceparentOf = (value: Json | undefined): Traceparent | undefined =>
  typeof value === 'string' && value.length <= 512 ? parseTraceparent(value.toLowerCase()) : undefined

/** Opaque; undefined when empty, longer than `charactersMax`, or no text or number. A longer one is not cut: two sessions could become one. */
export function sessionIdOf(value: Json | undefined, charactersMax: number): string | undefined {
  const text = typeof value === 'number' || typeof value === 'bigint' ? String(value) : value
  if (typeof text !== 'string' || text.trim() === '') return undefined
  return text.length <= charactersMax ? text.toWellFormed() : undefined
}
