import { levels } from '#src/events/telemetry.ts'
import { counted, inWords } from '../context.ts'
import { cut, isolated, isUnseen, named, percentOf, since, timeOf, zone } from '../format.ts'
import { html, type Html } from '../html.ts'
import type { Pattern } from './log-patterns.ts'
import { placeholder } from './message-shape.ts'
import type { Sayable } from './pattern-clause.ts'
import { trend, withinOf, type Within } from './trend.ts'

/** A record as its pattern needs it. */
export type Said = Sayable &
  Readonly<{
    shape: string
    example: string
    id: string
    timestamp: string
    level: string | null
    service: string | null
  }>

/** A pattern with where it leads; undefined: nowhere. */
export type ShownPattern = Pattern<Said> & Readonly<{ only: string | undefined; without: string | undefined }>

const patternCharactersMax = 300
const servicesMax = 3
const serviceCharactersMax = 60

/** How many of each value, the most frequent first. */
const countsOf = <Value>(values: readonly Value[]): readonly (readonly [Value, number])[] =>
  [...Map.groupBy(values, (value) => value)]
    .map(([value, all]) => [value, all.length] as const)
    .toSorted(([, a], [, b]) => b - a)

/** Of a text without anything to see, which could not be chosen. */
const noText = html`<em>no text</em>`

function wordsOf(text: string): Html {
  if (isUnseen(text)) return noText
  const parts = cut(text, patternCharactersMax).split(placeholder)
  const shown = parts.map((part, at) => (at % 2 === 1 ? html`<var>${part}</var>` : html`${part}`))
  return html`<code>${isolated(text, html`${shown}`)}</code>`
}

/** The worst first. */
function levelsOf(said: readonly Said[]): Html {
  const counts = new Map(countsOf(said.map(({ level }) => level)))
  const rows = [...levels.toReversed(), null].flatMap((level) => {
    const count = counts.get(level) ?? 0
    return count === 0 ? [] : [html`<div>${level ?? 'none'} <small>${inWords(count)}</small></div>`]
  })
  return html`${rows}`
}

/** Those of most of them. */
function serviceCell(said: readonly Said[]): Html {
  const counts = countsOf(said.map(({ service }) => service).filter((service) => service !== null))
  if (counts.length === 0) return html`<td></td>`
  const shown = counts
    .slice(0, servicesMax)
    .map(([service]) => html`<div>${named(service, serviceCharactersMax)}</div>`)
  const left = counts.length - servicesMax
  return html`<td data-head="Service">
    ${shown}${left > 0 ? html`<small>and ${counted(left, 'other')}</small>` : html``}
  </td>`
}

const earlier = (a: Said, b: Said): Said => (b.timestamp < a.timestamp ? b : a)
const later = (a: Said, b: Said): Said => (b.timestamp > a.timestamp ? b : a)

/** Of its last record, and of its first where that is another. */
function timesOf(first: Said, last: Said): Html {
  if (first === last) return timeOf(last.timestamp)
  const before = since(first.timestamp, last.timestamp).slice(1)
  return html`${timeOf(last.timestamp)}<br /><small>${timeOf(first.timestamp)}, ${before} before</small>`
}

const timesIn = (said: readonly Said[]): readonly number[] => said.map(({ timestamp }) => Date.parse(timestamp))

const worstOf = (said: readonly Said[]): string =>
  levels.findLast((level) => said.some((each) => each.level === level)) ?? 'none'

/** How many records were read, and of when. */
type Read = Readonly<{ count: number; within: Within }>

function rowOf({ text, said, only, without }: ShownPattern, read: Read): Html {
  const count = said.length
  const [first, last] = [said.reduce(earlier), said.reduce(later)]
  const shown = wordsOf(text)
  const example = placeholder.test(text) ? html`<p class="note">${isolated(last.example)}</p>` : html``
  const leaveOut =
    without === undefined
      ? html``
      : html`<a href="${without}" aria-label="Leave out: ${cut(text, serviceCharactersMax)}">Leave out</a>`
  return html`<tr class="${worstOf(said)}">
    <th scope="row">
      ${only === undefined ? shown : html`<a href="${only}" title="Search these records">${shown}</a>`} ${example}
      <p class="row">
        <a href="/app/logs?around=${encodeURIComponent(last.id)}#here">Newest in context</a> ${leaveOut}
      </p>
    </th>
    <td class="number" data-head="Records">
      ${inWords(count)} <small>${percentOf(count, read.count)}</small>
      ${trend(timesIn(said), read.within)}
    </td>
    <td class="level" data-head="Level">${levelsOf(said)}</td>
    ${serviceCell(said)}
    <td class="time" data-head="Last and first">${timesOf(first, last)}</td>
  </tr>`
}

/** Patterns, with how many of the records that were read are of each, and when. */
export function patternTable(patterns: readonly ShownPattern[], all: readonly Said[]): Html {
  const read = { count: all.length, within: withinOf(timesIn(all)) }
  return html`<table class="figures cards patterns">
    <thead>
      <tr>
        <th scope="col">Pattern</th>
        <th scope="col" class="number">Records</th>
        <th scope="col">Level</th>
        <th scope="col">Service</th>
        <th scope="col">Last and first (${zone})</th>
      </tr>
    </thead>
    <tbody>
      ${patterns.map((pattern) => rowOf(pattern, read))}
    </tbody>
  </table>`
}
