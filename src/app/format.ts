import { parseRfc3339Ns } from '#src/lib/time.ts'
import { html, type Html } from './html.ts'

const timeShown = (timestamp: string, shown: string): Html =>
  html`<time datetime="${timestamp}" title="${timestamp}">${shown}</time>`

const asFar = (timestamp: string, characters: number): string => timestamp.slice(0, characters).replace('T', ' ')
const msOf = (timestamp: string): string => asFar(timestamp, 23)

/**
 * `2026-11-21T12:00:00.123456789Z` as a time that people read; the exact one is in its tip. Below a head that says of which zone it is:
 * scripts/times.js shows both in another.
 */
export const timeOf = (timestamp: string | null): Html =>
  timestamp === null ? html`–` : timeShown(timestamp, msOf(timestamp))

/** The same where no head stands above it. */
export const timeAndZone = (timestamp: string | null): Html =>
  timestamp === null ? html`–` : timeShown(timestamp, `${msOf(timestamp)} UTC`)

/** The same to the nanosecond, which needs no tip: a page has a thousand of them. */
export const exactTime = (timestamp: string): Html => html`<time>${asFar(timestamp, 29)} UTC</time>`

function shownAsFar(ms: number, characters: number): Html {
  const timestamp = new Date(ms).toISOString()
  return timeShown(timestamp, `${asFar(timestamp, characters)} UTC`)
}

/** `2026-11-21 08:03 UTC`. */
export const minuteOf = (ms: number): Html => shownAsFar(ms, 16)

/** `2026-11-21 08:03:07 UTC`. */
export const secondOf = (ms: number): Html => shownAsFar(ms, 19)

/** In the head of a column, or of a field: of which zone its times are. */
export const zone = html`<span data-zone>UTC</span>`

/** `2026-11-21T12:00Z`, with seconds and milliseconds where it has some: a field of the form shows it whole. */
export const shortTime = (ms: number): string =>
  new Date(ms)
    .toISOString()
    .replace(/\.000Z$/, 'Z')
    .replace(/(T\d\d:\d\d):00Z$/, '$1Z')

/** Three digits of what is 1 at least, as long as there are no more before the point. */
const rounded = (value: number): string => (value < 999.5 ? value.toPrecision(3) : value.toFixed(0))

type Units = readonly (readonly [size: number, name: string])[]

/** In the largest of the units that it reaches, also by being rounded: `60.0 min` are `1.00 h`. `ones`: how it is said where it reaches none. */
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

/** Nanoseconds with three digits: `3.08 d`, `10.5 min`, `1.25 s`, `12.3 ms`, `950 µs`, `17 ns`. */
export const formatDuration = (ns: bigint): string =>
  `${ns < 0n ? '-' : ''}${inUnits(Math.abs(Number(ns)), durationUnits, 'ns')}`

/** How long after: `+1.25 ms`. */
export function since(start: string, time: string): string {
  const ns = (parseRfc3339Ns(time) ?? 0n) - (parseRfc3339Ns(start) ?? 0n)
  return `${ns < 0n ? '' : '+'}${formatDuration(ns)}`
}

/** A share of all in percent, of three digits at most; never none of what there is, and never all of what is less. */
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

/** The text as far as a page can bear it, by whole characters. */
export function cut(text: string, charactersMax: number): string {
  if (text.length <= charactersMax) return text
  const left = text.length - charactersMax
  return `${text.slice(0, charactersMax).toWellFormed()} … (${left.toLocaleString('en')} more character${left === 1 ? '' : 's'})`
}

/** Whether the text has lines that must stay apart, as a stack trace has. */
export const isOfLines = (text: string): boolean => /[\n\r]/.test(text.trim())

/** Letters that are written from right to left, and what changes a text's direction without being seen. */
const turning =
  /[\u0590-\u08ff\u200e\u200f\u202a-\u202e\u2066-\u2069\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u

/** The text so that its direction is its own: what stands beside it, such as a count or a link, keeps its place and its letters. */
export const isolated = (text: string, shown: Html = html`${text}`): Html =>
  turning.test(text) ? html`<bdi>${shown}</bdi>` : shown

/** The same where there is no markup, as in a title: between a first strong isolate and its end (Unicode Bidirectional Algorithm, UAX 9). */
export const isolatedText = (text: string): string => (turning.test(text) ? `\u2068${text}\u2069` : text)

/** Nothing of it can be seen, nor chosen: blanks, what has no shape, and marks of letters that are not there (Default_Ignorable_Code_Point, UAX 44). */
export const isUnseen = (text: string): boolean => !/[^\s\u2800\p{Cc}\p{DI}\p{M}]/u.test(text)

/** Of a name in a row. */
export const nameCharactersMax = 120

/** What a sender has called a service or an operation, as far as a row can bear it; senders may call it nothing. */
export const named = (name: string, charactersMax = nameCharactersMax): Html =>
  isUnseen(name) ? html`<em>no name</em>` : isolated(name, html`${cut(name, charactersMax)}`)
