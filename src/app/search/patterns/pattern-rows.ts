import { levels } from '#src/events/telemetry.ts'
import { counted, inWords } from '../../context.ts'
import { cut, isolated, isUnseen, lastAndFirst, named, percentOf, zone } from '../../format.ts'
import { html, type Html } from '../../html.ts'
import type { Pattern } from './log-patterns.ts'
import { placeholder } from './message-shape.ts'
import type { Sayable } from './pattern-clause.ts'
import { trend, withinOf, type Within } from './trend.ts'

/** What is kept of a record for its pattern. */
export type Said = Sayable &
  Readonly<{
    shape: string
    example: string
    id: string
    timestamp: string
    level: string | null
    service: string | null
  }>

/** A pattern with its links: to its records only, and to the others only. Undefined if there is no such search. */
export type ShownPattern = Pattern<Said> & Readonly<{ only: string | undefined; without: string | undefined }>

const patternCharactersMax = 300
const servicesMax = 3
const serviceCharactersMax = 60

/** The number of each value, the most frequent first. */
const countsOf = <Value>(values: readonly Value[]): readonly (readonly [Value, number])[] =>
  [...Map.groupBy(values, (value) => value)]
    .map(([value, all]) => [value, all.length] as const)
    .toSorted(([, a], [, b]) => b - a)

/** Shown for an invisible text, which could not be clicked. */
const noText = html`<em>no text</em>`

function wordsOf(text: string): Html {
  if (isUnseen(text)) return noText
  const parts = cut(text, patternCharactersMax).split(placeholder)
  const shown = parts.map((part, at) => (at % 2 === 1 ? html`<var>${part}</var>` : html`${part}`))
  return html`<code>${isolated(text, html`${shown}`)}</code>`
}

/** Counts by level, the worst first. */
function levelsOf(said: readonly Said[]): Html {
  const counts = new Map(countsOf(said.map(({ level }) => level)))
  const rows = [...levels.toReversed(), null].flatMap((level) => {
    const count = counts.get(level) ?? 0
    return count === 0 ? [] : [html`<div>${level ?? 'none'} <small>${inWords(count)}</small></div>`]
  })
  return html`${rows}`
}

/** The most frequent services. */
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

const timesIn = (said: readonly Said[]): readonly number[] => said.map(({ timestamp }) => Date.parse(timestamp))

const worstOf = (said: readonly Said[]): string =>
  levels.findLast((level) => said.some((each) => each.level === level)) ?? 'none'

/** How many records were read, and their range of time. */
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
    <td class="time" data-head="Last and first">${lastAndFirst(last.timestamp, first.timestamp)}</td>
  </tr>`
}

/** The table of patterns, each with its number of records and their times. */
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
