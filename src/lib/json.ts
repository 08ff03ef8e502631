/** Any JSON value; an integer beyond 2^53 is a bigint, so that its digits stay exact. */
export type Json = null | boolean | number | bigint | string | readonly Json[] | JsonObject
export type JsonObject = { readonly [key: string]: Json }

type Context = { source?: string }
type Reviver = (this: unknown, key: string, value: unknown, context: Context) => unknown
const parseWithSource = JSON.parse as (text: string, reviver?: Reviver) => unknown
const { rawJSON } = JSON as unknown as { rawJSON: (text: string) => unknown }

/**
 * Number literals that need the slow, exact way: those with 16 or more digits, or a huge exponent. One expression each, and one for the beginning of
 * the text: the engine skips ahead to a few possible first characters, but not to alternatives.
 */
const longInteger = /[:[,\s]-?\d{16}/
const firstLongInteger = /^-?\d{16}/
const hugeExponent = /(?<=(?:^|[:[,\s])-?\d+(?:\.\d+)?)[eE]\+?\d{3}/
/** The same for somebody who also asks for the digits of long fractions. */
const longNumber = /(?:^|[:[,\s])-?\d[\d.]{14}/

function isExact(text: string, withFractions: boolean): boolean {
  const isLong = withFractions ? longNumber.test(text) : longInteger.test(text) || firstLongInteger.test(text)
  return !isLong && !hugeExponent.test(text)
}

/**
 * Parses JSON text; integers that a double cannot hold come back as bigint, and a literal beyond the range of a double
 * (`1e400`) as the string of its source. `onFraction` is told the digits of each fraction that a double may not hold, and
 * the object or array that holds it. An integer of more than `integerCharactersMax` stays the string of its source, too.
 * Throws SyntaxError like JSON.parse. Source: ECMA-404, ECMA-262 `context.source`.
 */
export function parseJson(
  text: string,
  onFraction?: (holder: object, key: string, source: string) => void,
  integerCharactersMax = Infinity,
): Json {
  if (isExact(text, onFraction !== undefined)) return JSON.parse(text) as Json
  return parseWithSource(text, function (this: unknown, key, value, context) {
    if (typeof value !== 'number' || Number.isSafeInteger(value)) return value
    const source = context.source ?? ''
    if (source.length <= integerCharactersMax && /^-?\d+$/.test(source)) return BigInt(source)
    if (source.length > 16) onFraction?.(this as object, key, source)
    return Number.isFinite(value) ? value : source
  }) as Json
}

/** JSON text of a value; a bigint is written as a number with its exact digits. */
export function stringifyJson(value: unknown): string {
  try {
    // Without a bigint, and that is nearly always, there is no need to look at each value.
    return JSON.stringify(value)
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    return JSON.stringify(value, (_key, item: unknown) => (typeof item === 'bigint' ? rawJSON(item.toString()) : item))
  }
}

/** A text as it is, anything else as JSON. */
export const textOrJson = (value: unknown): string => (typeof value === 'string' ? value : stringifyJson(value))

/** True for a plain JSON object. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
