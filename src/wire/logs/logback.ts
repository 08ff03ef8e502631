import type { Json, JsonObject } from '#src/lib/json.ts'

// What logback's own JsonEncoder writes in a way of its own (logback.qos.ch, manual/encoders.html#JsonEncoder).

const nsOfMs = 1_000_000

/** Its time: milliseconds since the Unix epoch, and beside them the nanoseconds of the second. Undefined where these are not of one moment. */
export function preciseTimeOf(timestamp: Json, nanoseconds: Json | undefined): JsonObject | undefined {
  if (typeof timestamp !== 'number' || typeof nanoseconds !== 'number') return undefined
  if (Math.floor(nanoseconds / nsOfMs) !== timestamp % 1_000) return undefined
  return { seconds: Math.floor(timestamp / 1_000), nanos: nanoseconds }
}

/** Its message is a template, unless it is told to write `formattedMessage` too: with its arguments, as SLF4J's MessageFormatter puts them in. */
export function filledMessageOf({ message, arguments: given, loggerName }: JsonObject): string | undefined {
  if (typeof message !== 'string' || !message.includes('{}')) return undefined
  if (!Array.isArray(given) || typeof loggerName !== 'string') return undefined
  const texts = given.filter((argument) => typeof argument === 'string').values()
  return message.replaceAll(/\\?\{\}/g, (place) => (place === '{}' ? (texts.next().value ?? place) : '{}'))
}
