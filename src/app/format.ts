import { parseRfc3339Ns } from '#src/lib/time.ts'
import { html, type Html } from './html.ts'

const timeShown = (timestamp: string, shown: string): Html =>
  html`<time datetime="${timestamp}" title="${timestamp}">${shown}</time>`

const asFar = (timestamp: string, characters: number): string => timestamp.slice(0, characters).replace('T', ' ')
const msOf = (timestamp: string): string => asFar(timestamp, 23)

/**
 * `2026-11-21T12:00:00.123456789Z` as a readable time, with the exact one as its tip. For use below a head that names the zone; scripts/times.js can
 * show both in another zone.
 */
export const timeOf = (timestamp: string | null): Html =>
  timestamp === null ? html`–` : timeShown(timestamp, msOf(timestamp))

/** Like `timeOf`, with the zone, for use without such a head. */
export const timeAndZone = (timestamp: string | null): Html =>
  timestamp === null ? html`–` : timeShown(timestamp, `${msOf(timestamp)} UTC`)

/** To the nanosecond and without a tip, because a page has a thousand of these. */
export const exactTime = (timestamp: string): Html => html`<time>${asFar(timestamp, 29)} UTC</time>`

function shownAsFar(ms: number, characters: number): Html {
  const timestamp = new Date(ms).toISOString()
  return timeShown(timestamp, `${asFar(timestamp, characters)} UTC`)
}

/** `2026-11-21 08:03 UTC`. */
export const minuteOf = (ms: number): Html => shownAsFar(ms, 16)

/** `2026-11-21 08:03:07 UTC`. */
export const secondOf = (ms: number): Html => shownAsFar(ms, 19)

/** For the head of a column or the label of a field: the zone of its times. */
export const zone = html`<span data-zone>UTC</span>`

/** `2026-11-21T12:00Z`, with seconds and milliseconds only if they are not 0, so that a form's field shows it whole. */
export const shortTime = (ms: number): string =>
  new Date(ms)
    .toISOString()
    .replace(/\.000Z$/, 'Z')
    .replace(/(T\d\d:\d\d):00Z$/, '$1Z')

/** A value of at least 1 with three significant digits, or with all digits before the point if there are more. */
const rounded = (value: number): string => (value < 999.5 ? value.toPrecision(3) : value.toFixed(0))

type Units = readonly (readonly [size: number, name: string])[]

/** A size in the largest unit that it reaches after rounding: `60.0 min` is `1.00 h`. `ones`: the unit of a size that reaches none. */
function inUnits(size: number, units: Units, ones: string): string {
  const found = units.find(([unit], at) => {
    const [smaller] = units[at + 1] ?? [1]
    return Number(rounded(size / smaller)) * smaller >= unit
  })
  if (found === undefined) return `${size} ${ones}`
  const [unit, name] = found
  return `${rounded(Math.max(1, size / unit))} ${name}`
}

const durationUnits: Units = [
  [86_400e9, 'd'],
  [3_600e9, 'h'],
  [60e9, 'min'],
  [1e9, 's'],
  [1e6, 'ms'],
  [1e3, 'µs'],
]

/** A duration in nanoseconds, with three digits: `3.08 d`, `10.5 min`, `1.25 s`, `12.3 ms`, `950 µs`, `17 ns`. */
export const formatDuration = (ns: bigint): string =>
  `${ns < 0n ? '-' : ''}${inUnits(Math.abs(Number(ns)), durationUnits, 'ns')}`

/** The time from `start` to `time`: `+1.25 ms`. */
export function since(start: string, time: string): string {
  const ns = (parseRfc3339Ns(time) ?? 0n) - (parseRfc3339Ns(start) ?? 0n)
  return `${ns < 0n ? '' : '+'}${formatDuration(ns)}`
}

/** When the last of some things was, and below it when the first was, if that is another. */
export const lastAndFirst = (last: string, first: string): Html =>
  first === last
    ? timeOf(last)
    : html`${timeOf(last)}<br /><small>${timeOf(first)}, ${since(first, last).slice(1)} before</small>`

/** A share in percent, with at most three digits. Never 0 % of something that is there, and never 100 % of less than all. */
export function percentOf(count: number, all: number): string {
  const percent = (count / all) * 100
  if (percent < 0.1) return '< 0.1 %'
  return `${Math.min(count === all ? 100 : 99.9, percent).toFixed(percent < 10 || (percent > 99 && count < all) ? 1 : 0)} %`
}

const byteUnits: Units = [
  [1e12, 'TB'],
  [1e9, 'GB'],
  [1e6, 'MB'],
  [1e3, 'kB'],
]

/** `12.3 GB`, with three digits; below 1,000 `950 bytes`. */
export const formatBytes = (bytes: number): string => inUnits(bytes, byteUnits, bytes === 1 ? 'byte' : 'bytes')

/** The text cut to what a page can show, without splitting a surrogate pair. */
export function cut(text: string, charactersMax: number): string {
  if (text.length <= charactersMax) return text
  const left = text.length - charactersMax
  return `${text.slice(0, charactersMax).toWellFormed()} … (${left.toLocaleString('en')} more character${left === 1 ? '' : 's'})`
}

/** Whether a text has line breaks that must be kept, like a stack trace. */
export const isOfLines = (text: string): boolean => /[\n\r]/.test(text.trim())

/** Letters of right-to-left scripts, and invisible characters that change the direction of text. */
const turning =
  /[\u0590-\u08ff\u200e\u200f\u202a-\u202e\u2066-\u2069\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u

/** The text isolated in its direction, so that a count or link beside it keeps its place and order. */
export const isolated = (text: string, shown: Html = html`${text}`): Html =>
  turning.test(text) ? html`<bdi>${shown}</bdi>` : shown

/** The same without markup, as for a title: between FIRST STRONG ISOLATE and POP DIRECTIONAL ISOLATE (Unicode Bidirectional Algorithm, UAX 9). */
export const isolatedText = (text: string): string => (turning.test(text) ? `\u2068${text}\u2069` : text)

/**
 * Whether nothing of a text can be seen or clicked: blanks, characters without a shape, and marks without a base letter
 * (Default_Ignorable_Code_Point, UAX 44).
 */
export const isUnseen = (text: string): boolean => !/[^\s\u2800\p{Cc}\p{DI}\p{M}]/u.test(text)

/** The longest name that a row shows. */
export const nameCharactersMax = 120

/** A service or operation as its sender named it, cut to what a row can show. The name may be empty. */
export const named = (name: string, charactersMax = nameCharactersMax): Html =>
  isUnseen(name) ? html`<em>no name</em>` : isolated(name, html`${cut(name, charactersMax)}`)
