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
import { ofOtherTools } from './other-names.ts'

/** Cursors of earlier pages kept in an address: so far back a walk goes page by page. */
const cursorsMax = 20

/** A search page's address: the conditions as typed, and the cursors of the pages that led here, the last one's own. `plan`: of the workspace. */
export type Asked = Readonly<{ conditions: URLSearchParams; cursors: readonly string[]; plan: Workspace['plan'] }>

/** The search takes their words in capitals too; the page compares them with those that it offers. */
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

/** The values of a condition that may be given more than once, or as a list. */
export const listed = (conditions: URLSearchParams, name: string): readonly string[] =>
  conditions.getAll(name).flatMap((value) => value.split(',').filter(Boolean))

/** The query string that the search is asked with. */
export function searchOf({ conditions, cursors }: Asked, more: Readonly<Record<string, string>>): string {
  return withConditions(conditions, { ...more, cursor: cursors.at(-1) ?? null }).toString()
}

function addressOf(path: string, conditions: URLSearchParams, cursors: readonly string[]): string {
  const search = new URLSearchParams(conditions)
  for (const cursor of cursors.slice(-cursorsMax)) search.append('cursor', cursor)
  return `${path}?${search.toString()}`
}

/** Links to the page before and the page after: who reads on begins with its results, and not with the form again. */
export function pager(path: string, { conditions, cursors }: Asked, nextCursor: string | null): Html {
  const linkTo = (rel: string, led: readonly string[], words: string): Html =>
    html`<a rel="${rel}" href="${addressOf(path, conditions, led)}#results">${words}</a>`
  const back = cursors.length === 1 ? 'First page' : 'Previous page'
  return html`<nav class="tabs" aria-label="Pages of results">
    ${cursors.length === 0 ? html`` : linkTo('prev', cursors.slice(0, -1), back)}
    ${nextCursor === null ? html`` : linkTo('next', [...cursors, nextCursor], 'Next page')}
  </nav>`
}

/** Characters of a search that are shown on either side of a place in it: more would not stay on one line. */
const besideMax = 30

/** The part of a search around a place, and under it a sign at the place. */
function placeIn(query: string, position: number): Html {
  const [start, end] = [Math.max(0, position - besideMax), position + besideMax]
  const before = `${start > 0 ? '…' : ''}${query.slice(start, position)}`
  const after = `${query.slice(position, end)}${end < query.length ? '…' : ''}`
  const lines = `${(before + after).toWellFormed()}\n${' '.repeat(before.length)}^`
  return html`<pre class="place">${lines}</pre>`
}

const tryAgain = (ctx: Context, seconds: number): Html =>
  html`<p><a href="${ctx.url}">Try again</a> in ${counted(seconds, 'second')}.</p>`

/** What is wrong with a search, and where in it; `more`: what to do about it. */
export function whatIsWrong({ detail, position, expected = [] }: Refusal, query: string, more: Html = html``): Html {
  const place = position === undefined ? html`` : placeIn(query, position)
  const could = expected.length === 0 ? html`` : html`<p class="note">Expected here: ${expected.join(', ')}.</p>`
  return html`<div class="problem" role="alert" id="${problemId}">
    <p>${detail}</p>
    ${place}${could}${more}
  </div>`
}

/** How the form calls parameters that have other names in an address. */
const labels: Readonly<Record<string, string>> = {
  from: 'From',
  to: 'To',
  min_duration: 'At least',
  max_duration: 'At most',
}

/** `from: is after to` as the form calls them: “From” is after “To”. What is in the middle of a sentence otherwise is no name. */
const inWordsOfForm = (detail: string): string =>
  detail
    .replace(/^(\w+): (?=is )/, (typed, name: string) => (name in labels ? `“${labels[name]}” ` : typed))
    .replace(/^(\w+): /, (typed, name: string) => (name in labels ? `“${labels[name]}”: ` : typed))
    .replace(/(?<=^“.*)\b(to|m(?:in|ax)_duration)$/, (name) => `“${labels[name]}”`)

/** `wrong`: the parameter that it is about. */
type Refused = Readonly<{ body: Html; status: number; wrong: string | undefined }>

/** What was wrong with a search, pointing at the place, or when to try it again; `meant`: what else may have been. Sets the status and headers of the refusal. */
export function searchRefusal(ctx: Context, given: Refusal, query: string, meant?: Html): Refused {
  const refused = withRetry(ctx, given)
  setRefusal(ctx, refused)
  const { position, errors = [], retryAfterS } = refused
  const more = retryAfterS === undefined ? meant : tryAgain(ctx, retryAfterS)
  const body = whatIsWrong({ ...refused, detail: inWordsOfForm(refused.detail) }, query, more)
  return { body, status: statusOf(refused.code), wrong: position === undefined ? errors[0]?.path : 'q' }
}

type About = Pick<TraceSearchAnswer, 'query' | 'index'>

/** How the search was understood, and whether the index has everything. */
export function about({ query, index }: About): Html {
  const understood =
    query.normalized === '' ? html`` : html`<p class="note">Searched: <code>${query.normalized}</code></p>`
  return html`${behindPart(index)}${understood}${query.warnings.map((warning) => html`<p class="notice">${warning}</p>`)}`
}

/** Of a page and not of a search: a form begins anew without them. */
export const ofPage: readonly string[] = ['limit', 'include', 'around', 'before', 'after']

/** Fields for the conditions that only an address can give: a form without them would drop them. `own`: those that it has anyway. */
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

/** The usual ranges as far as the plan keeps anything, and all that it keeps. */
function rangesWithin(keptDays: number): readonly (readonly [string, string])[] {
  const days = [...rangesDays.filter((each) => each < keptDays), ...(keptDays > 1 ? [keptDays] : [])]
  return [...ranges, ...days.map((each) => [`-${each}d`, counted(each, 'day')] as const)]
}

/** Both ends of the range, with the usual ones suggested. */
export const rangeFields = ({ conditions, plan }: Asked, wrong: string | undefined): Html => {
  const of = (name: string): string => conditions.get(name) ?? ''
  return html`${field({ label: html`From (${zone})`, name: 'from', value: of('from'), placeholder: '-24h', list: 'ranges', wrong })}
  ${field({ label: html`To (${zone})`, name: 'to', value: of('to'), placeholder: 'now', wrong })}
  ${suggestions(
    'ranges',
    rangesWithin(plan.retentionDays).map(([from]) => from),
  )}`
}

/** Conditions by which a search that names no range looks at all times. */
const ofAllTimes = ['around', 'trace_id', 'session_id'] as const

/** Links to the same search of the usual ranges: also the way back from a narrow one; and `moves`, of ranges beside its own. */
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

/** Where nothing was found in a range: what to do next. `noun`: what was looked for; `sender`: what alone sends it. */
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

/** The way on where the cursors in an address are refused: the same conditions without them. */
function beginAgain({ path }: Context, { conditions }: Asked, { code }: Refusal): Html {
  if (code !== 'invalid_cursor' && code !== 'cursor_mismatch') return html``
  return html`<p><a href="${addressOf(path, conditions, [])}">Begin again at the first page</a></p>`
}

type FormOf = (asked: Asked, facets: undefined, wrong: string | undefined) => Html

/** What a search page shows where the search is refused: its form with what was typed, and what became of it. */
export const refusedSearch =
  (title: string, formOf: FormOf) =>
  (ctx: Context, app: Pick<AppContext, 'directory'>, refused: Refusal): SessionPage => {
    const asked = readAsked(ctx, app)
    const query = asked.conditions.get('q') ?? ''
    const meant = refused.position === undefined ? html`` : ofOtherTools(ctx.path, asked.conditions)
    const { body, status, wrong } = searchRefusal(ctx, refused, query, meant)
    return {
      title,
      about: query,
      body: html`${formOf(asked, undefined, wrong)}${body}${beginAgain(ctx, asked, refused)}`,
      status,
    }
  }

/** Names that the results have, for the field of a service or of an operation: its list is called by more than one of them. */
export const nameSuggestions = (facets: TraceSearchAnswer['facets'], name: 'service' | 'operation'): Html => {
  const found = facets?.find(({ field }) => field === name)?.values ?? []
  return suggestions(
    `${name}s`,
    found.map(({ value }) => value),
  )
}
