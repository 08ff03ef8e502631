import { parseRfc3339Ns } from '#src/lib/time.ts'

const unitNs: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  µs: 1_000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
  d: 86_400_000_000_000n,
  w: 604_800_000_000_000n,
}
const amount = /^(\d{1,15})(?:\.(\d{1,9}))?(ns|us|µs|ms|s|m|h|d|w)$/

/** A duration such as `200ms`, `1.5s`, `2h`, in nanoseconds; undefined when it is not one. */
export function parseDurationNs(text: string): bigint | undefined {
  const [, whole, fraction = '', unit = ''] = amount.exec(text) ?? []
  const scale = unitNs[unit]
  if (whole === undefined || scale === undefined) return undefined
  return BigInt(whole) * scale + (BigInt(fraction.padEnd(9, '0')) * scale) / 1_000_000_000n
}

/** Unix time of any usual unit, told by magnitude: seconds below 1e11, then ms, µs, ns. Fractions are of the unit. */
function parseUnixNs(text: string): bigint | undefined {
  const [, sign = '', whole, fraction = ''] = /^(-?)(\d{1,19})(?:\.(\d{1,9}))?$/.exec(text) ?? []
  if (whole === undefined) return undefined
  const value = BigInt(whole)
  const scale =
    value < 100_000_000_000n ? unitNs['s'] : value < 10n ** 14n ? unitNs['ms'] : value < 10n ** 17n ? unitNs['us'] : 1n
  const ns = value * (scale ?? 1n) + (BigInt(fraction.padEnd(9, '0')) * (scale ?? 1n)) / 1_000_000_000n
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
 * A point in time as `from` and `to` take it: RFC 3339, a date, Unix s / ms / µs / ns, or relative to now (`15m`, `-1h`,
 * `now-2d`). Nanoseconds since the Unix epoch; undefined when it is none of these. A `+` that a query string turned into
 * a blank is understood.
 */
export function parseTimeNs(text: string, nowMs: number): bigint | undefined {
  const given = text.trim().replace(/^now (?=\d)/, 'now+')
  return (
    parseUnixNs(given) ??
    parseRelativeNs(given, BigInt(Math.trunc(nowMs)) * 1_000_000n) ??
    parseRfc3339Ns(/^\d{4}-\d\d-\d\d$/.test(given) ? `${given}T00:00:00Z` : given.replace(/ (?=\d\d:\d\d$)/, '+'))
  )
}
