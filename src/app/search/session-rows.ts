import type { SessionSearchAnswer } from '#src/query/searches.ts'
import { counted } from '../context.ts'
import { cut, isolated, lastAndFirst, named, zone } from '../format.ts'
import { html, type Html } from '../html.ts'

type ShownSession = SessionSearchAnswer['sessions'][number]

const urlCharactersMax = 160

/** The page's address as text, not as a link: it leads outside. */
const pageOf = (url: string | null): Html =>
  url === null ? html`` : html`<br /><small>${isolated(url, html`${cut(url, urlCharactersMax)}`)}</small>`

const cell = (head: string, text: string | null): Html =>
  text === null ? html`<td></td>` : html`<td data-head="${head}">${named(text)}</td>`

function rowOf(session: ShownSession): Html {
  const { session_id: id, event_count: events, error_count: errors, service, url, user, first, last } = session
  const marks = errors > 0 ? html`<br /><span class="mark bad">${counted(errors, 'error')}</span>` : html``
  return html`<tr>
    <th scope="row"><a href="/app/find?id=${encodeURIComponent(id)}">${named(id)}</a>${pageOf(url)}</th>
    <td data-head="Last and first event" class="time">${lastAndFirst(last, first)}</td>
    <td data-head="Events">${counted(events, 'event')}${marks}</td>
    ${cell('Service', service)}${cell('User', user)}
  </tr>`
}

/** A table of browser sessions, from the events that were read. */
export function sessionTable(sessions: readonly ShownSession[]): Html {
  if (sessions.length === 0) return html``
  return html`<table class="cards sessions">
    <thead>
      <tr>
        <th scope="col">Session and its last page</th>
        <th scope="col">Last and first event (${zone})</th>
        <th scope="col">Events</th>
        <th scope="col">Service</th>
        <th scope="col">User</th>
      </tr>
    </thead>
    <tbody>
      ${sessions.map(rowOf)}
    </tbody>
  </table>`
}
