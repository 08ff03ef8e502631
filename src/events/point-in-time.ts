import { parseRfc3339Ns } from '#src/lib/time.ts'
import { parseDurationNs } from './quantity.ts'

const secondNs = 1_000_000_000n
const msNs = 1_000_000n

/** What RFC 3339 can write: the years 1 to 9999. */
const earliestNs = -62_135_596_800n * secondNs
const latestNs = 253_402_300_800n * secondNs - 1n

/** Nanoseconds of one unit of a Unix time, told by magnitude: seconds below 1e11, then ms, µs, ns. */
function unitNs(value: bigint): bigint {
  if (value < 10n ** 11n) return secondNs
  if (value < 10n ** 14n) return msNs
  return value < 10n ** 17n ? 1_000n : 1n
}

function parseUnixNs(text: string): bigint | undefined {
  const [, sign = '', whole, fraction = ''] = /^(-?)(\d{1,19})(?:\.(\d{1,9}))?$/.exec(text) ?? []
  if (whole === undefined) return undefined
  const value = BigInt(whole)
  const unit = unitNs(value)
  const ns = value * unit + (BigInt(fraction.padEnd(9, '0')) * unit) / secondNs
  return sign === '-' ? -ns : ns
}

function parseRelativeNs(text: string, nowNs: bigint): bigint | undefined {
  if (text === 'now') return nowNs
  const [, sign = '-', length = ''] = /^(?:now(?=[+-]))?([+-])?(.+)$/.exec(text) ?? []
  const ns = parseDurationNs(length)
  if (ns === undefined) return undefined
  return sign === '+' ? nowNs + ns : nowNs - ns
}

/**
 * RFC 3339, and shorter forms that people write; without a zone they are UTC, like all times that we show: `2026-11-21`, `2026-11-21 12:00`,
 * `2026-11-21T12:00:00.123`, `2026-11-21 12:00 UTC`, `2026-11-21T12:00Z`.
 */
function parseWrittenNs(text: string): bigint | undefined {
  const [, date, minute = 'T00:00', second = ':00', zone = 'Z'] =
    /^(\d{4}-\d\d-\d\d)(?:([T ]\d\d:\d\d)(:\d\d(?:\.\d+)?)?(Z|[-+ ]\d\d:\d\d)?)?(?: ?UTC)?$/i.exec(text) ?? []
  return date === undefined ? undefined : parseRfc3339Ns(`${date}${minute}${second}${zone.replace(' ', '+')}`)
}

/**
 * A point in time as `from` and `to` take it: RFC 3339 (also without a zone, which is UTC), a date, Unix s / ms / µs / ns, or relative to now
 * (`15m`, `-1h`, `now-2d`). Nanoseconds since the Unix epoch; undefined for anything else, and outside the years 1 to 9999. A query string turns `+`
 * into a blank, which is understood, except before a length of time: ` 1h` may be `+1h` or `1h` with a pasted blank, which mean opposite times, so
 * it is neither.
 */
export function parseTimeNs(text: string, nowMs: number): bigint | undefined {
  if (/^ [\d.]+\p{L}/u.test(text)) return undefined
  const given = text.trim().replace(/^now (?=\d)/, 'now+')
  const ns = parseUnixNs(given) ?? parseRelativeNs(given, BigInt(Math.trunc(nowMs)) * msNs) ?? parseWrittenNs(given)
  return ns === undefined || ns < earliestNs || ns > latestNs ? undefined : ns
}
