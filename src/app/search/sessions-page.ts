import type { Context } from 'koa'
import type { Session } from '#src/directory/directory.ts'
import type { Refusal } from '#src/events/refusal.ts'
import type { Route } from '#src/http/route.ts'
import { ok } from '#src/lib/result.ts'
import type { SessionSearchAnswer } from '#src/query/searches.ts'
import { reopenScript } from '../assets.ts'
import { counted, inWords, sendSessionPage, sessionHere, type AppContext } from '../context.ts'
import { checkbox, field } from '../fields.ts'
import { timeAndZone } from '../format.ts'
import { html, type Html } from '../html.ts'
import { seeOther } from '../page.ts'
import { addressWith, withConditions } from './conditions.ts'
import { meantBy } from './meant/meant.ts'
import type { Find } from './meant/page-search.ts'
import { rangeMoves } from './range-moves.ts'
import { searchForm, type FormOf, type FormShown } from './search-form.ts'
import { sessionForms } from './search-help.ts'
import { listed, readAsked, searchOf, type Asked } from './asked.ts'
import { about, nothingFits, pager } from './beside-results.ts'
import { rangeFields } from './ranges.ts'
import { searchRoute } from './refused-search.ts'
import { sessionTable } from './session-rows.ts'
import { lookUpTyped } from './typed-id.ts'

const path = '/app/sessions'
const ownFields = ['q', 'service', 'from', 'to', 'has'] as const

function fieldsOf(asked: Asked, { wrong }: FormShown): Html {
  const { conditions } = asked
  const isWithErrors = listed(conditions, 'has').includes('error')
  return html`${field({ label: 'Service', name: 'service', value: conditions.get('service') ?? '', wrong })}
  ${rangeFields(asked, wrong)}${checkbox('has', 'error', 'with errors', isWithErrors)}`
}

const formOf: FormOf = (asked, shown) =>
  searchForm({
    path,
    asked,
    shown,
    label: 'Search browser events',
    placeholder: 'checkout user.id=7 -page.url:cart',
    help: sessionForms,
    fields: fieldsOf(asked, shown),
    own: ownFields,
  })

/** Says which events the list is made from: those that were read and that matched. */
function lookedAt({ conditions, cursors, plan }: Asked, answer: SessionSearchAnswer): Html {
  const { read, sessions, next_cursor: next } = answer
  if (read.count === 0) return html``
  const isWithErrors = listed(conditions, 'has').includes('error')
  const found = isWithErrors
    ? `${inWords(sessions.length)} of ${counted(read.session_count, 'session')} with errors`
    : counted(sessions.length, 'session')
  const isAll = cursors.length === 0 && next === null
  const order = cursors.length > 0 ? 'next older' : 'newest'
  const which = isAll ? `all ${counted(read.count, 'event')}` : `the ${order} ${counted(read.count, 'event')}`
  const isNarrowed = conditions.has('q') || conditions.has('service')
  // Here logs and exceptions count as events. The usage page, and the page of a session, count them as logs.
  const included = plan.features.includes('logs') ? ' (logs and exceptions included)' : ''
  const none = read.without_session
  const without = none === 0 ? '' : ` ${inWords(none)} of these name${none === 1 ? 's' : ''} no session.`
  const more =
    next === null ? '' : ' Only these are counted: a session that has older ones stands on a later page again.'
  return html`<p>
    <strong>${found}</strong> in ${which} of browsers${isNarrowed ? ' that fit' : ''}${included}, from
    ${timeAndZone(read.oldest)} to ${timeAndZone(read.newest)}.${without}${more}
  </p>`
}

/** Spans are not browser events: the sessions of an SDK that only sends spans are found by its traces. */
function amongTraces({ conditions, plan }: Asked): Html {
  if (!plan.features.includes('tracing')) return html``
  const traces = addressWith('/app/traces', conditions, { q: 'session_id:*' })
  return html`<p>
    OpenTelemetry in a page sends spans, and no browser events: see
    <a href="${traces}">the traces that name a session</a>.
  </p>`
}

/** The session search with the services of the newest sessions, because it counts nothing. */
const createFind =
  ({ searches }: AppContext, workspaceId: Session['workspaceId']): Find =>
  async (search) => {
    const own = withConditions(new URLSearchParams(search), { limit: null, include: null })
    const result = await searches.sessions(workspaceId, own.toString())
    if (!result.ok) return result
    const values = [...new Set(result.value.sessions.map(({ service }) => service ?? ''))].map((value) => ({ value }))
    return ok({ sessions: result.value.sessions, facets: [{ field: 'service', values }] })
  }

type Shown = Readonly<{ asked: Asked; meant: Html; nowMs: number }>

/** Says that there is no session, or none on this page. */
function noneHere({ asked, meant, nowMs }: Shown, { read, range, next_cursor: next }: SessionSearchAnswer): Html {
  if (next !== null) return html`<p>None among these: there are older events on the next page.</p>`
  const howTo =
    read.count > 0 && read.session_count === 0 && asked.cursors.length === 0
      ? html`<p>
          A session is found once a browser event names it: as <code>session_id</code>, or by the session of Grafana
          Faro.
        </p>`
      : html``
  return html`${meant}${nothingFits(path, asked, { noun: 'browser session', range, nowMs, sender: 'browser' })}${howTo}${amongTraces(asked)}`
}

/** `meant`: suggestions if nothing was found. */
function resultsOf(shown: Shown, answer: SessionSearchAnswer): Html {
  const { asked } = shown
  const { sessions, next_cursor: next } = answer
  return html`${about(answer)}
    <div id="results">
      ${lookedAt(asked, answer)}${sessions.length === 0 ? noneHere(shown, answer) : sessionTable(sessions)}
    </div>
    ${pager(path, asked, next)}`
}

async function sendSessions(ctx: Context, app: AppContext): Promise<Refusal | void> {
  const asked = readAsked(ctx, app)
  const result = await app.searches.sessions(sessionHere(ctx).workspaceId, searchOf(asked, {}))
  if (!result.ok) return result.error
  const answer = result.value
  const { sessions, range } = answer
  const found = { sessionIds: sessions.map(({ session_id: id }) => id), isEmpty: sessions.length === 0 }
  const typed = await lookUpTyped(ctx, app, asked, found)
  if (typed.address !== undefined) return seeOther(ctx, typed.address)
  const moves = rangeMoves(path, asked, range, app.clock())
  const find = createFind(app, sessionHere(ctx).workspaceId)
  const isNone = answer.read.count === 0
  const meant = isNone ? await meantBy(path, asked, answer.query.normalized, find) : html``
  const results = resultsOf({ asked, meant, nowMs: app.clock() }, answer)
  const body = html`${formOf(asked, { moves })}${typed.notice}${results}`
  const typedQuery = asked.conditions.get('q') ?? ''
  await sendSessionPage(ctx, app, { title: 'Sessions', about: typedQuery, body, scripts: [reopenScript] })
}

/** The page of the newest browser sessions. */
export const createSessionPageRoute = (app: AppContext): Route =>
  searchRoute(app, { path, title: 'Sessions', formOf, send: sendSessions })
