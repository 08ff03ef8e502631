/** Longer texts are not ids: the longest form is a UUID's 36 characters. */
const idCharactersMax = 40

function parseId(text: string, digits: number): string | undefined {
  if (text.length > idCharactersMax) return undefined
  const id = text.length === digits ? text.toLowerCase() : text.replaceAll('-', '').toLowerCase()
  if (id.length !== digits || !/^[0-9a-f]+$/.test(id) || /^0+$/.test(id)) return undefined
  return id
}

/**
 * A trace id as 32 lower-case hex digits. Takes any case, with or without dashes; 16 digits (a 64-bit id) are left-padded.
 * Undefined when it is not one, or all zero. Source: W3C Trace Context, OTLP/JSON mapping.
 */
export function parseTraceId(text: string): string | undefined {
  return parseId(text, 32) ?? parseId(text, 16)?.padStart(32, '0')
}

/** A span id as 16 lower-case hex digits; undefined when it is not one, or all zero. */
export const parseSpanId = (text: string): string | undefined => parseId(text, 16)

/** Removes the `0x` that OpenTelemetry for Python, and debuggers, print before an id. */
const withoutMark = (text: string): string => text.trim().replace(/^0x/i, '')

/** A trace id that a person has pasted from somewhere: as `parseTraceId`, also with blanks around it or `0x` before it. */
export const askedTraceId = (text: string): string | undefined => parseTraceId(withoutMark(text))
/** As `askedTraceId`. */
export const askedSpanId = (text: string): string | undefined => parseSpanId(withoutMark(text))

/** The hex of an id that is written as an unsigned decimal number (Datadog's): 16 digits, or more if it has more than 64 bits. Undefined for 0. */
export function hexOfDecimal(digits: string): string | undefined {
  const value = BigInt(digits)
  return value > 0n ? value.toString(16).padStart(16, '0') : undefined
}
