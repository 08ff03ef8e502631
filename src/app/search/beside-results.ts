import type { TraceSearchAnswer } from '#src/query/searches.ts'
import { dayMs } from '#src/lib/day.ts'
import { behindPart, counted } from '../context.ts'
import { html, type Html } from '../html.ts'
import type { Asked } from './asked.ts'
import { addressWith } from './conditions.ts'
import { ofAllTimes } from './ranges.ts'

type About = Pick<TraceSearchAnswer, 'query' | 'index'>

/** How the search was understood, and whether the index is complete. */
export function about({ query, index }: About): Html {
  const understood =
    query.normalized === '' ? html`` : html`<p class="note">Searched: <code>${query.normalized}</code></p>`
  return html`${behindPart(index)}${understood}${query.warnings.map((warning) => html`<p class="notice">${warning}</p>`)}`
}

/** The most cursors of earlier pages kept in an address: one can go back so many pages. */
const cursorsMax = 20

function addressOf(path: string, conditions: URLSearchParams, cursors: readonly string[]): string {
  const search = new URLSearchParams(conditions)
  for (const cursor of cursors.slice(-cursorsMax)) search.append('cursor', cursor)
  return `${path}?${search.toString()}`
}

/** Links to the previous and next page. They lead to the results, not to the form above. */
export function pager(path: string, { conditions, cursors }: Asked, nextCursor: string | null): Html {
  const linkTo = (rel: string, led: readonly string[], words: string): Html =>
    html`<a rel="${rel}" href="${addressOf(path, conditions, led)}#results">${words}</a>`
  const back = cursors.length === 1 ? 'First page' : 'Previous page'
  return html`<nav class="tabs" aria-label="Pages of results">
    ${cursors.length === 0 ? html`` : linkTo('prev', cursors.slice(0, -1), back)}
    ${nextCursor === null ? html`` : linkTo('next', [...cursors, nextCursor], 'Next page')}
  </nav>`
}

type Range = Readonly<{ from: string | null; to: string | null }>

/** Suggestions if nothing was found in a range. `noun`: what was searched for. `sender`: the only kind of sender of it. */
export function nothingFits(
  path: string,
  { conditions, cursors, plan }: Asked,
  { noun, range, nowMs, sender }: Readonly<{ noun: string; range: Range; nowMs: number; sender?: 'browser' }>,
): Html {
  const { from, to } = range
  if (cursors.length > 0) return html`<p>No more ${noun}s match.</p>`
  const keptDays = plan.retentionDays
  const wider = addressWith(path, conditions, { from: `-${keptDays}d`, to: null })
  const isOfTime = !ofAllTimes.some((name) => conditions.has(name))
  const isWide = from === null || (Date.parse(from) <= nowMs - keptDays * dayMs && !conditions.has('to'))
  const look =
    isOfTime && !isWide ? html` <a href="${wider}">Search the last ${counted(keptDays, 'day')}</a>, or see` : html` See`
  const empty =
    from !== null && from === to ? html` “From” and “To” are the same time, and nothing is between them.` : html``
  const connect = sender === undefined ? '/app/connect' : `/app/connect?what=${sender}`
  return html`<p>No ${noun}s match.${empty}${look} how to <a href="${connect}">connect</a> a ${sender ?? 'sender'}.</p>`
}
