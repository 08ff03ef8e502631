import { isJsonObject, type Json, type JsonObject } from '#src/lib/json.ts'
import { midnightMs } from '#src/lib/time.ts'

/** The range of the index engines' times (`date_nanos`): 1970-01-01 to 2262-04-11T23:47:16.854775807Z. */
export const earliestNs = 0n
export const latestNs = 9_223_372_036_854_775_807n

const decimal = /^([+-]?)(\d{1,30})(?:\.(\d{0,30}))?$/
const exponent = /^[+-]?\d{1,30}(?:\.\d{0,30})?[eE][+-]?\d{1,3}$/
/** Zone names of RFC 5322 (§4.3), in hours east of UTC. Other names (`CET`) do not mean the same zone everywhere. */
const zoneHours = new Map(
  Object.entries({ Z: 0, UTC: 0, GMT: 0, EST: -5, EDT: -4, CST: -6, CDT: -5, MST: -7, MDT: -6, PST: -8, PDT: -7 }),
)
const zoneNames = [...zoneHours.keys()].join('|')
/** A zone. An abbreviation or a region may follow, but does not count alone. */
const zone = String.raw`(?: ?(${zoneNames}|[+-]\d\d(?::?\d\d)?)(?: [A-Z]{1,5}|\[[^\]]{1,64}\])?)?`
/** RFC 3339 and similar: blank instead of T, comma instead of point, no zone (UTC). */
const iso = new RegExp(
  String.raw`^(\d{4})[-/](\d\d)[-/](\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,30}))?)?${zone})?$`,
  'i',
)
const basic = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(?:[.,](\d{1,30}))?(Z|[+-]\d\d(?::?\d\d)?)?$/i
/** Common log format: `10/Oct/2026:13:55:36 -0700`. */
const common = /^(\d\d)\/([a-z]{3})\/(\d{4}):(\d\d):(\d\d):(\d\d) ([+-]\d{4})$/i
/** RFC 5322 and HTTP dates: `Tue, 10 Nov 2026 08:12:31 GMT`. */
const mail = new RegExp(
  String.raw`^(?:[a-z]{3}, )?(\d{1,2})[ -]([a-z]{3})[ -](\d{4}) (\d\d):(\d\d):(\d\d)(?: (${zoneNames}|[+-]\d{4}))?$`,
  'i',
)
const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']

/** Decimal digits from the unit of a number of this size to nanoseconds. Seconds are assumed up to the year 5138, and so on. */
function unitDigits(size: number): number {
  if (size < 1e11) return 9
  if (size < 1e14) return 6
  return size < 1e17 ? 3 : 0
}

const powers = [1n, 0n, 0n, 1_000n, 0n, 0n, 1_000_000n, 0n, 0n, 1_000_000_000n]

/** Decimal text as nanoseconds, exact to the last digit. `digits` is the unit as a power of ten (9 for seconds), by magnitude if not given. */
export function parseEpoch(text: string, digits?: number): bigint | undefined {
  const [, sign, whole, fraction = ''] = decimal.exec(text) ?? []
  if (whole === undefined) {
    const value = exponent.test(text) ? Number(text) : Number.NaN
    return Math.abs(value) < 1e21 && Math.abs(value) >= 1e-6 ? parseEpoch(String(value), digits) : undefined
  }
  const unit = digits ?? unitDigits(Number(whole))
  const part = unit === 0 ? 0n : BigInt(fraction.slice(0, unit).padEnd(unit, '0'))
  const time = BigInt(whole) * (powers[unit] ?? 1n) + part
  return sign === '-' ? -time : time
}

/**
 * A time as senders write it, in nanoseconds since the Unix epoch, not checked against the storable range: RFC 3339 with up to nanoseconds, similar
 * common forms, or a number (also as text) of s, ms, µs or ns by magnitude. Undefined if it is no time.
 */
export function parseTime(value: Json | undefined): bigint | undefined {
  if (typeof value === 'number') {
    if (Number.isSafeInteger(value)) return BigInt(value) * (powers[unitDigits(Math.abs(value))] ?? 1n)
    return parseEpoch(String(value))
  }
  if (typeof value === 'bigint') return parseEpoch(value.toString())
  if (isJsonObject(value)) return parseInstant(value)
  if (typeof value !== 'string' || value.length > 128) return undefined
  const quick = parseUsual(value)
  if (quick !== undefined) return quick
  const text = value.trim()
  return parseCalendar(text) ?? parseEpoch(text)
}

/** log4j's form of a Java `Instant`, and Google Cloud's of a protobuf `Timestamp`. */
function parseInstant({ epochSecond, nanoOfSecond, seconds, nanos }: JsonObject): bigint | undefined {
  const second = epochSecond ?? seconds
  const nano = nanoOfSecond ?? nanos
  if (!Number.isSafeInteger(second) || !Number.isSafeInteger(nano)) return undefined
  return BigInt(second as number) * 1_000_000_000n + BigInt(nano as number)
}

const usual = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{3}|\.\d{6}|\.\d{9})?Z$/

/** Nanoseconds of a fraction's last digit, by the length of the whole text. */
const fractionUnits: Readonly<Record<number, number>> = { 24: 1_000_000, 27: 1_000, 30: 1 }

/** Parses the form that most senders write, faster than the general way; undefined in any doubt. */
function parseUsual(text: string): bigint | undefined {
  // Date.parse takes 30 February and 24:00, which the general form refuses.
  if (!usual.test(text) || text.startsWith('24', 11)) return undefined
  const ms = Date.parse(`${text.slice(0, 19)}Z`)
  const dayOfMonth = Number(text.slice(8, 10))
  if (Number.isNaN(ms) || (dayOfMonth > 28 && new Date(ms).getUTCDate() !== dayOfMonth)) return undefined
  const fraction = text.length > 20 ? Number(text.slice(20, -1)) * (fractionUnits[text.length] ?? 0) : 0
  return BigInt(ms) * 1_000_000n + BigInt(fraction)
}

const day = /^\d{4}-\d\d-\d\d$/
const timeOfDay = /^\d\d:\d\d:\d\d(?:[.,]\d{1,9})?$/

/** A date joined with the time of day in the field next to it, as CloudFront and IIS write them (W3C Extended Log File Format, in UTC). */
export const withTimeOfDay = (date: Json, time: Json | undefined): Json =>
  typeof date === 'string' && typeof time === 'string' && day.test(date) && timeOfDay.test(time)
    ? `${date}T${time}`
    : date

function parseCalendar(text: string): bigint | undefined {
  const found = iso.exec(text) ?? basic.exec(text)
  if (found !== null) {
    const [, year, month, day, hour, minute, second, fraction, offset] = found
    return instant([year, month, day, hour, minute, second], fraction, offset)
  }
  const named = common.exec(text) ?? mail.exec(text)
  if (named === null) return undefined
  const [, day, name = '', year, hour, minute, second, offset] = named
  const month = String(months.indexOf(name.toLowerCase()) + 1)
  return instant([year, month, day, hour, minute, second], undefined, offset)
}

/** A calendar time that exists, less its offset; a leap second counts as the second after it. */
function instant(
  parts: readonly (string | undefined)[],
  fraction: string | undefined,
  offset: string | undefined,
): bigint | undefined {
  const [year, month, day, hour, minute, second] = parts.map((part) => Number(part ?? 0)) as Calendar
  const midnight = midnightMs(year, month, day)
  const zoneMinutes = offsetMinutes(offset)
  if (hour > 23 || minute > 59 || second > 60) return undefined
  if (midnight === undefined || zoneMinutes === undefined) return undefined
  const whole = BigInt(midnight / 1000 + hour * 3600 + (minute - zoneMinutes) * 60 + second)
  return whole * 1_000_000_000n + (fraction === undefined ? 0n : BigInt(fraction.slice(0, 9).padEnd(9, '0')))
}

type Calendar = [year: number, month: number, day: number, hour: number, minute: number, second: number]

function offsetMinutes(offset: string | undefined): number | undefined {
  if (offset === undefined) return 0
  const named = zoneHours.get(offset.toUpperCase())
  if (named !== undefined) return named * 60
  const hours = Number(offset.slice(1, 3))
  const minutes = Number(offset.slice(3).replace(':', ''))
  if (hours > 23 || minutes > 59) return undefined
  return (offset.startsWith('-') ? -1 : 1) * (hours * 60 + minutes)
}
