import { timeAndZone } from '../format.ts'
import { html, type Html } from '../html.ts'
import { addressWith } from './conditions.ts'
import type { ShownLog } from './log-rows.ts'

/** Numbers of neighbours on either side of a record: the next step, and the most allowed. */
const more = ['250', '1000'] as const

type Given = Readonly<{ path: string; conditions: URLSearchParams; logs: readonly ShownLog[] }>

/** Says whose neighbours are shown, with links to fewer or more of them. Empty on other pages. */
export function aroundPart({ path, conditions, logs }: Given): Html {
  if (!conditions.has('around')) return html``
  const middle = logs.find(({ id }) => id === conditions.get('around'))
  const service = conditions.get('service')
  const linkTo = (changes: Readonly<Record<string, string | null>>, words: string): Html =>
    html`<a href="${addressWith(path, conditions, changes)}#here">${words}</a> `
  const record =
    middle === undefined ? html`a record` : html`<a href="#here">the record of ${timeAndZone(middle.timestamp)}</a>`
  const only = middle?.service == null ? html`` : linkTo({ service: middle.service }, `Only ${middle.service}`)
  const next = more.find((count) => Number(count) > Number(conditions.get('before') ?? 0))
  return html`<p class="notice">
    Before and after ${record}, ${service === null ? 'of all services' : `of the service ${service}`}.
    ${service === null ? only : linkTo({ service: null }, 'All services')}
    ${next === undefined ? html`` : linkTo({ before: next, after: next }, 'More of them')}
  </p>`
}
