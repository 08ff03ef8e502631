const nsPerMs = 1_000_000n
const nsPerSecond = 1_000_000_000n

/** RFC 3339 in UTC with nine digits of fraction, `2026-11-21T07:57:00.123456789Z`, of nanoseconds since the Unix epoch. */
export function formatTimeNs(timeNs: bigint): string {
  const fraction = ((timeNs % nsPerSecond) + nsPerSecond) % nsPerSecond
  const seconds = new Date(Number((timeNs - fraction) / nsPerMs)).toISOString().slice(0, 19)
  return `${seconds}.${fraction.toString().padStart(9, '0')}Z`
}

const rfc3339 =
  /^(\d{4})-(\d\d)-(\d\d)[Tt ]([01]\d|2[0-3]):([0-5]\d):([0-5]\d|60)(?:\.(\d+))?(?:[Zz]|([+-](?:[01]\d|2[0-3])):([0-5]\d))$/

/** Midnight of a day in ms; undefined for a day that does not exist, such as 30 February. */
export function midnightMs(year: number, month: number, day: number): number | undefined {
  const date = new Date(0)
  date.setUTCFullYear(year, month - 1, day)
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day ? date.getTime() : undefined
}

/**
 * Nanoseconds since the Unix epoch of an RFC 3339 time; undefined if it is not one or names no real day. Exact to the nanosecond; further
 * digits are dropped. A leap second counts as the second after it, as in POSIX time.
 */
export function parseRfc3339Ns(text: string): bigint | undefined {
  const found = rfc3339.exec(text)
  if (found === null) return undefined
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = found.slice(1, 7).map(Number)
  const [fraction = '', offsetHours = '+00', offsetMinutes = '00'] = found.slice(7)
  const midnight = midnightMs(year, month, day)
  if (midnight === undefined) return undefined
  const offsetS = Number(offsetHours) * 3_600 + Number(`${offsetHours.slice(0, 1)}${offsetMinutes}`) * 60
  const seconds = midnight / 1_000 + hour * 3_600 + minute * 60 + second - offsetS
  return BigInt(seconds) * nsPerSecond + BigInt(fraction.slice(0, 9).padEnd(9, '0'))
}
