import type { Context } from 'koa'
import type { Workspace } from '#src/directory/directory.ts'
import type { Refusal } from '#src/events/refusal.ts'
import { setRefusal, statusOf, withRetry } from '#src/http/errors.ts'
import type { TraceSearchAnswer } from '#src/query/searches.ts'
import { present } from '#src/lib/assert.ts'
import { dayMs } from '#src/lib/day.ts'
import { behindPart, counted, problemId, sessionHere, type AppContext, type SessionPage } from '../context.ts'
import { field, suggestions } from '../fields.ts'
import { zone } from '../format.ts'
import { html, type Html } from '../html.ts'
import { addressWith, withConditions } from './conditions.ts'
import { ofOtherTools } from './meant/other-names.ts'
import { didYouMean } from './meant/page-search.ts'
import type { Search } from './narrow.ts'

/** The most cursors of earlier pages kept in an address: one can go back so many pages. */
const cursorsMax = 20

/**
 * What a search page's address asks: the conditions as typed, and the cursors of the pages up to this one, its own last. `plan`: of the workspace.
 */
export type Asked = Readonly<{ conditions: URLSearchParams; cursors: readonly string[]; plan: Workspace['plan'] }>

/** Parameters whose values are offered. The search accepts them in capitals too, but the page compares them with its own. */
const ofChoice: readonly string[] = ['level', 'status', 'has', 'kind', 'order']

export function readAsked(ctx: Context, { directory }: Pick<AppContext, 'directory'>): Asked {
  const given = [...new URLSearchParams(ctx.querystring)]
    .filter(([, value]) => value !== '')
    .map(([name, value]): [string, string] => [name, ofChoice.includes(name) ? value.toLowerCase() : value])
  const conditions = new URLSearchParams(given.filter(([name]) => name !== 'cursor'))
  const cursors = given.filter(([name]) => name === 'cursor').map(([, cursor]) => cursor)
  const { plan } = present(directory.workspace(sessionHere(ctx).workspaceId), 'a session has a workspace')
  return { conditions, cursors, plan }
}

/** The values of a condition that may be repeated, or given as a comma-separated list. */
export const listed = (conditions: URLSearchParams, name: string): readonly string[] =>
  conditions.getAll(name).flatMap((value) => value.split(',').filter(Boolean))

/** The query string for the search. */
export function searchOf({ conditions, cursors }: Asked, more: Readonly<Record<string, string>>): string {
  return withConditions(conditions, { ...more, cursor: cursors.at(-1) ?? null }).toString()
}

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

/** Characters shown on either side of an error's place in a search; more would not fit on one line. */
const besideMax = 30

/** The part of a search around a place, with a mark below the place. */
function placeIn(query: string, position: number): Html {
  const [start, end] = [Math.max(0, position - besideMax), position + besideMax]
  const before = `${start > 0 ? '…' : ''}${query.slice(start, position)}`
  const after = `${query.slice(position, end)}${end < query.length ? '…' : ''}`
  const lines = `${(before + after).toWellFormed()}\n${' '.repeat(before.length)}^`
  return html`<pre class="place">${lines}</pre>`
}

const tryAgain = (ctx: Context, seconds: number): Html =>
  html`<p><a href="${ctx.url}">Try again</a> in ${counted(seconds, 'second')}.</p>`

/** What is wrong with a search, and where. `more`: what to do about it. */
export function whatIsWrong({ detail, position, expected = [] }: Refusal, query: string, more: Html = html``): Html {
  const place = position === undefined ? html`` : placeIn(query, position)
  const could = expected.length === 0 ? html`` : html`<p class="note">Expected here: ${expected.join(', ')}.</p>`
  return html`<div class="problem" role="alert" id="${problemId}">
    <p>${detail}</p>
    ${place}${could}${more}
  </div>`
}

/** The form's labels of parameters. */
const labels: Readonly<Record<string, string>> = {
  from: 'From',
  to: 'To',
  min_duration: 'At least',
  max_duration: 'At most',
}

/** `from: is after to` with the form's labels: “From” is after “To”. A parameter's name in the middle of another sentence is not replaced. */
const inWordsOfForm = (detail: string): string =>
  detail
    .replace(/^(\w+): (?=is )/, (typed, name: string) => (name in labels ? `“${labels[name]}” ` : typed))
    .replace(/^(\w+): /, (typed, name: string) => (name in labels ? `“${labels[name]}”: ` : typed))
    .replace(/(?<=^“.*)\b(to|m(?:in|ax)_duration)$/, (name) => `“${labels[name]}”`)

/** `wrong`: the parameter that the problem is about. */
type Refused = Readonly<{ body: Html; status: number; wrong: string | undefined }>

/** Describes a refused search, with the place of the error or when to try again. `meant`: suggestions. Sets the status and headers of the refusal. */
export function searchRefusal(ctx: Context, given: Refusal, query: string, meant?: Html): Refused {
  const refused = withRetry(ctx, given)
  setRefusal(ctx, refused)
  const { position, errors = [], retryAfterS } = refused
  const more = retryAfterS === undefined ? meant : tryAgain(ctx, retryAfterS)
  const body = whatIsWrong({ ...refused, detail: inWordsOfForm(refused.detail) }, query, more)
  return { body, status: statusOf(refused.code), wrong: position === undefined ? errors[0]?.path : 'q' }
}

type About = Pick<TraceSearchAnswer, 'query' | 'index'>

/** How the search was understood, and whether the index is complete. */
export function about({ query, index }: About): Html {
  const understood =
    query.normalized === '' ? html`` : html`<p class="note">Searched: <code>${query.normalized}</code></p>`
  return html`${behindPart(index)}${understood}${query.warnings.map((warning) => html`<p class="notice">${warning}</p>`)}`
}

/** Parameters of a page, not of a search: sending the form drops them. */
export const ofPage: readonly string[] = ['limit', 'include', 'around', 'before', 'after']

/** Hidden fields for conditions that only an address can give, which the form would otherwise drop. `own`: names of the form's other fields. */
export const givenFields = (
  conditions: URLSearchParams,
  own: readonly string[],
  wrong: string | undefined,
): readonly Html[] =>
  [...conditions]
    .filter(([name]) => !own.includes(name) && !ofPage.includes(name))
    .map(([name, value]) => field({ label: name, name, value, size: 34, wrong }))

/** The usual ranges, up to now. */
const ranges = [
  ['-15m', '15 minutes'],
  ['-1h', 'hour'],
  ['-6h', '6 hours'],
  ['-24h', '24 hours'],
] as const
const rangesDays = [7, 30]

/** The usual ranges within the plan's retention, and all of the retention. */
function rangesWithin(keptDays: number): readonly (readonly [string, string])[] {
  const days = [...rangesDays.filter((each) => each < keptDays), ...(keptDays > 1 ? [keptDays] : [])]
  return [...ranges, ...days.map((each) => [`-${each}d`, counted(each, 'day')] as const)]
}

/** Fields for both ends of the range, with the usual ones suggested. */
export const rangeFields = ({ conditions, plan }: Asked, wrong: string | undefined): Html => {
  const of = (name: string): string => conditions.get(name) ?? ''
  return html`${field({ label: html`From (${zone})`, name: 'from', value: of('from'), placeholder: '-24h', list: 'ranges', wrong })}
  ${field({ label: html`To (${zone})`, name: 'to', value: of('to'), placeholder: 'now', wrong })}
  ${suggestions(
    'ranges',
    rangesWithin(plan.retentionDays).map(([from]) => from),
  )}`
}

/** Conditions with which a search without a range looks at all times. */
const ofAllTimes = ['around', 'trace_id', 'session_id'] as const

/** Links to the same search in the usual ranges, also as a way back from a narrow one. `moves`: links to neighbouring ranges. */
export function rangeLinks(path: string, { conditions, plan }: Asked, moves: Html): Html {
  if (conditions.has('around')) return html``
  const byId = ofAllTimes.some((name) => conditions.has(name))
  const shown = conditions.has('to') ? undefined : (conditions.get('from') ?? (byId ? undefined : '-24h'))
  return html`<nav class="tabs" aria-label="Time range">
    <span class="note">Last</span>
    ${rangesWithin(plan.retentionDays).map(([from, words]) => {
      const current = from === shown ? html`aria-current="true"` : html``
      return html`<a href="${addressWith(path, conditions, { from, to: null })}" ${current}>${words}</a> `
    })}${moves}
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

/** A way on if the cursors of an address are refused: the same conditions without them. */
function beginAgain(path: string, { conditions }: Asked, { code }: Refusal): Html {
  if (code !== 'invalid_cursor' && code !== 'cursor_mismatch') return html``
  return html`<p><a href="${addressOf(path, conditions, [])}">Begin again at the first page</a></p>`
}

type FormOf = (asked: Asked, facets: undefined, wrong: string | undefined) => Html

/** The page of a refused search: its form with what was typed, and the refusal. */
export const refusedSearch =
  (path: Search['path'], title: string, formOf: FormOf) =>
  (ctx: Context, app: Pick<AppContext, 'directory'>, refused: Refusal): SessionPage => {
    const asked = readAsked(ctx, app)
    const query = asked.conditions.get('q') ?? ''
    const search = { path, conditions: asked.conditions }
    const meant = refused.position === undefined ? html`` : didYouMean(search, ofOtherTools(search))
    const { body, status, wrong } = searchRefusal(ctx, refused, query, meant)
    return {
      title,
      about: query,
      body: html`${formOf(asked, undefined, wrong)}${body}${beginAgain(path, asked, refused)}`,
      status,
    }
  }

/** Suggestions for the field of a service or operation, from the results. */
export const nameSuggestions = (facets: TraceSearchAnswer['facets'], name: 'service' | 'operation'): Html => {
  const found = facets?.find(({ field }) => field === name)?.values ?? []
  return suggestions(
    `${name}s`,
    found.map(({ value }) => value),
  )
}
