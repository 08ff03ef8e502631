import type { Context } from 'koa'
import type { Refusal } from '#src/events/refusal.ts'
import { setRefusal, statusOf, withRetry } from '#src/http/errors.ts'
import type { Route } from '#src/http/route.ts'
import { counted, problemId, sendSessionPage, sessionPage, type AppContext, type SessionPage } from '../context.ts'
import { html, type Html } from '../html.ts'
import { createRefuseSearch } from '../refuse-page.ts'
import { readAsked, type Asked } from './asked.ts'
import { addressWith } from './conditions.ts'
import { ofOtherTools } from './meant/other-names.ts'
import { didYouMean } from './meant/page-search.ts'
import type { Search } from './narrow.ts'
import type { FormOf } from './search-form.ts'

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

/** A way on if the cursors of an address are refused: the same conditions without them. */
function beginAgain(path: string, { conditions }: Asked, { code }: Refusal): Html {
  if (code !== 'invalid_cursor' && code !== 'cursor_mismatch') return html``
  return html`<p><a href="${addressWith(path, conditions, {})}">Begin again at the first page</a></p>`
}

type SearchPage = Readonly<{
  path: Search['path']
  title: string
  formOf: FormOf
  /** Sends the page, or returns why its search was refused. */
  send: (ctx: Context, app: AppContext) => Promise<Refusal | void>
}>

/** The route of a search page. A refused search is shown with the form as it was filled in. */
export function searchRoute(app: AppContext, { path, title, formOf, send }: SearchPage): Route {
  function pageOf(ctx: Context, { directory }: Pick<AppContext, 'directory'>, refused: Refusal): SessionPage {
    const asked = readAsked(ctx, { directory })
    const query = asked.conditions.get('q') ?? ''
    const search = { path, conditions: asked.conditions }
    const meant = refused.position === undefined ? html`` : didYouMean(search, ofOtherTools(search))
    const { body, status, wrong } = searchRefusal(ctx, refused, query, meant)
    return {
      title,
      about: query,
      body: html`${formOf(asked, { wrong })}${body}${beginAgain(path, asked, refused)}`,
      status,
    }
  }
  const handler = async (ctx: Context): Promise<void> => {
    const refused = await send(ctx, app)
    if (refused) await sendSessionPage(ctx, app, pageOf(ctx, app, refused))
  }
  return { ...sessionPage(createRefuseSearch(app, pageOf)), path, method: 'GET', handler }
}
