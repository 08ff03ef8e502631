import type { Json, JsonObject } from '#src/lib/json.ts'

// What is peculiar to logback's own JsonEncoder (logback.qos.ch, manual/encoders.html#JsonEncoder).

const nsOfMs = 1_000_000

/** The exact time from milliseconds since the Unix epoch and the nanoseconds within the second. Undefined if the two do not agree. */
export function preciseTimeOf(timestamp: Json, nanoseconds: Json | undefined): JsonObject | undefined {
  if (typeof timestamp !== 'number' || typeof nanoseconds !== 'number') return undefined
  if (Math.floor(nanoseconds / nsOfMs) !== timestamp % 1_000) return undefined
  return { seconds: Math.floor(timestamp / 1_000), nanos: nanoseconds }
}

/**
 * The message with its arguments filled in, by the rules of SLF4J's MessageFormatter. The encoder writes a template unless it is set to write
 * `formattedMessage` too.
 */
export function filledMessageOf({ message, arguments: given, loggerName }: JsonObject): string | undefined {
  if (typeof message !== 'string' || !message.includes('{}')) return undefined
  if (!Array.isArray(given) || typeof loggerName !== 'string') return undefined
  const texts = given.filter((argument) => typeof argument === 'string').values()
  return message.replaceAll(/\\?\{\}/g, (place) => (place === '{}' ? (texts.next().value ?? place) : '{}'))
}
