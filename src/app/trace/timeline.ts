import type { CorrelationAnswer } from '#src/query/searches.ts'
import { counted, inWords } from '../context.ts'
import { formatDuration, since, timeAndZone, timeOf, zone } from '../format.ts'
import { html, type Html } from '../html.ts'
import type { ColourOf } from '../service-colours.ts'
import { spanIdOf, type TreeRow } from './span-tree.ts'
import { createSaid, short, type Entry, type Said } from './timeline-entries.ts'

/** The most lines that are not folded. */
const openMax = 50
/** At least this many consecutive similar lines are folded into one, or rounds of a loop of several lines. */
const alikeMin = 4
/** The most lines in a round of a loop. */
const roundMax = 8
/** The most lines of a page. All traces, logs and browser events are shown, then as many spans as fit. */
const linesMax = 400

/** Spans that do not fit: the shortest; failed ones only if no others are left. */
function spansLeftOut({ trace, timeline }: CorrelationAnswer): ReadonlySet<string> {
  const spans = trace?.spans ?? []
  const room = Math.max(0, linesMax - (timeline.length - spans.length))
  if (spans.length <= room) return new Set()
  const lengths = spans.map(({ span_id: id, status, duration_ns: ns }) => {
    return { id, isError: status.code === 'error', ns: BigInt(ns) }
  })
  lengths.sort((a, b) => Number(b.isError) - Number(a.isError) || Number(b.ns - a.ns))
  return new Set(lengths.slice(room).map(({ id }) => id))
}

/** Order at one time: browser events first, then spans, each below its parent, then logs. */
const orderOfKinds: readonly Entry['kind'][] = ['rum_event', 'trace', 'span', 'log']

/** The entries in order of time; those of the same time in causal order. */
function inOrder({ timeline }: CorrelationAnswer, rows: readonly TreeRow[]): readonly Entry[] {
  const places = new Map(rows.map((row, place) => [spanIdOf(row), place]))
  const placeOf = ({ kind, ref }: Entry): number => (kind === 'span' ? (places.get(ref) ?? 0) : 0)
  return timeline.toSorted((a, b) => {
    if (a.time !== b.time) return a.time < b.time ? -1 : 1
    return orderOfKinds.indexOf(a.kind) - orderOfKinds.indexOf(b.kind) || placeOf(a) - placeOf(b)
  })
}

/** False if there is only one kind: its own list is in order of time already. */
const hasTimeline = ({ timeline }: CorrelationAnswer): boolean =>
  timeline.some(({ kind }) => kind !== timeline[0]?.kind)

/** A link to it, where there is one. */
export const timelineLinks = (answer: CorrelationAnswer): readonly (readonly [string, string])[] =>
  hasTimeline(answer) ? [['#timeline', 'Timeline']] : []

/** What is not in the timeline, and why. */
function cutPart(answer: CorrelationAnswer, leftOut: number, isFirst: boolean): Html {
  const { trace, traces, logs, rum_events: events } = answer
  const continued = [
    [trace?.next_cursor, 'spans'],
    [traces?.next_cursor, 'traces'],
    [logs?.next_cursor, 'logs'],
    [events.next_cursor, 'browser events'],
  ].flatMap(([cursor, words]) => (cursor == null ? [] : [words]))
  const ofSpans =
    trace?.next_cursor == null && isFirst
      ? `${counted(leftOut, 'span')} left out, which took the least time: the list of spans has them all.`
      : `${inWords(leftOut)} of this page's spans left out, which took the least time: the list of spans has them.`
  const said = [
    ...(leftOut > 0 ? [ofSpans] : []),
    ...(continued.length > 0 ? [`Only what is on this page: there are more ${continued.join(', ')}.`] : []),
    ...(isFirst ? [] : ['What earlier pages of a list have is not here.']),
  ]
  return said.length === 0 ? html`` : html`<p class="note">${said.join(' ')}</p>`
}

/** The time since the line before; empty for the first. */
function afterOf(before: string | undefined, time: string): string {
  if (before === undefined) return ''
  return before === time ? '+0' : since(before, time)
}

type Line = Readonly<{ time: string; before: string | undefined; said: Said }>

/** A line's text without its times. */
const readingOf = ({ said: { kind, service, words, marks } }: Line): string =>
  JSON.stringify([kind, service, words.markup, marks.markup])

/** Lines that are shown as one: consecutive rounds of `round` similar lines, or a single line. */
type Run = Readonly<{ lines: readonly Line[]; round: number }>

/** How many lines from a place on are whole rounds that repeat the first; 0 if they are too few to be folded. */
function roundsAt(readings: readonly string[], at: number, round: number): number {
  let alike = 0
  while (at + round + alike < readings.length && readings[at + alike] === readings[at + round + alike]) alike += 1
  const rounds = 1 + Math.floor(alike / round)
  return rounds < alikeMin ? 0 : rounds * round
}

/** Groups similar lines. At each place it takes the round that folds most lines, or the shortest of several. */
function runsOf(lines: readonly Line[]): readonly Run[] {
  const readings = lines.map(readingOf)
  const runs: Run[] = []
  for (let at = 0; at < lines.length;) {
    let [count, round] = [0, 1]
    for (let tried = 1; tried <= roundMax; tried += 1) {
      const folded = roundsAt(readings, at, tried)
      if (folded > count) [count, round] = [folded, tried]
    }
    runs.push({ lines: lines.slice(at, at + Math.max(1, count)), round })
    at += Math.max(1, count)
  }
  return runs
}

const beginOf = ({ time, before, said }: Line): Html =>
  html`<span class="time">${timeOf(time)}</span> <span class="time gap">${afterOf(before, time)}</span>
    <span class="kind">${said.kind}</span>`

const serviceOf = ({ service }: Said, colourOf: ColourOf): Html =>
  service === null ? html`` : html`<strong class="${colourOf(service)}">${short(service)}</strong> `

const lineOf = (line: Line, colourOf: ColourOf): Html => {
  const { place, words, marks, ns } = line.said
  return html`<li>
    ${beginOf(line)}
    <span class="said"
      >${serviceOf(line.said, colourOf)}<a href="${place}">${words}</a
      >${ns === undefined ? html`` : html` <span class="note">took ${formatDuration(ns)}</span>`}${marks}</span
    >
  </li>`
}

/** `3.00 ms to 5.00 ms`; undefined if the lines have no duration. */
function lengthsOf(run: readonly Line[]): string | undefined {
  const lengths = run.flatMap(({ said: { ns } }) => ns ?? []).toSorted((a, b) => Number(a - b))
  const [least, most] = [lengths[0], lengths.at(-1)]
  if (least === undefined || most === undefined) return undefined
  const [from, to] = [formatDuration(least), formatDuration(most)]
  return from === to ? `${from} each` : `${from} to ${to}`
}

/** Each line of a round, with its durations in all rounds. */
function roundOf({ lines, round }: Run, colourOf: ColourOf): readonly Html[] {
  return lines.slice(0, round).map((line, at) => {
    const { kind, words, marks } = line.said
    const lengths = lengthsOf(lines.filter((_, place) => place % round === at))
    const took = round === 1 || lengths === undefined ? html`` : html` <span class="note">took ${lengths}</span>`
    const then = at === 0 ? html`` : html` <span class="note">then ${kind}</span> `
    return html`${then}${serviceOf(line.said, colourOf)}${words}${took}${round === 1 ? html`` : marks}`
  })
}

/** A single line, or a folded run with a summary. */
function runOf(run: Run, colourOf: ColourOf): Html {
  const { lines, round } = run
  const [first, last] = [lines[0], lines.at(-1)]
  if (first === undefined || last === undefined) return html``
  if (lines.length === 1) return lineOf(first, colourOf)
  const lengths = round === 1 ? lengthsOf(lines) : undefined
  const took = lengths === undefined ? '' : `, took ${lengths}`
  const within = first.time === last.time ? 'at once' : `within ${since(first.time, last.time).slice(1)}`
  return html`<li>
    ${beginOf(first)}
    <div class="said">
      <details>
        <summary>
          ${roundOf(run, colourOf)}
          <span class="note">${inWords(lines.length / round)} times ${within}${took}</span
          >${round === 1 ? first.said.marks : html``}
        </summary>
        <ol class="moments" aria-label="Each of them">
          ${lines.map((line) => lineOf(line, colourOf))}
        </ol>
      </details>
    </div>
  </li>`
}

/** `rows`: the lines of the waterfall. */
type Looks = Readonly<{ colourOf: ColourOf; isFirst: boolean; rows: readonly TreeRow[] }>

/** Everything on the page, spans and records, in order of time. */
export function timelinePart(answer: CorrelationAnswer, looks: Looks): Html {
  if (!hasTimeline(answer)) return html``
  const saidOf = createSaid(answer)
  const leftOut = spansLeftOut(answer)
  const entries = inOrder(answer, looks.rows).flatMap((entry) => {
    const said = entry.kind === 'span' && leftOut.has(entry.ref) ? undefined : saidOf(entry)
    return said === undefined ? [] : [{ time: entry.time, said }]
  })
  const runs = runsOf(entries.map((entry, at) => ({ ...entry, before: entries[at - 1]?.time })))
  const lines = runs.map((run) => runOf(run, looks.colourOf))
  const [open, folded] = [lines.slice(0, openMax), lines.slice(openMax)]
  const rest = html`<details>
    <summary>${counted(folded.length, 'more line')}, as far as ${timeAndZone(entries.at(-1)?.time ?? null)}</summary>
    <ol class="moments" start="${openMax + 1}" aria-label="The lines after those">
      ${folded}
    </ol>
  </details>`
  return html`<h2 id="timeline">Timeline</h2>
    ${cutPart(answer, leftOut.size, looks.isFirst)}
    <div class="moments heads" aria-hidden="true">
      <span>Time (${zone})</span> <span class="gap">After the one above</span> <span>Kind</span> <span>What</span>
    </div>
    <ol class="moments" aria-label="What happened, in order of time">
      ${open}
    </ol>
    ${folded.length === 0 ? html`` : rest}`
}
