import type { Key } from '#src/directory/directory.ts'
import { keyKindNames } from '#src/directory/keys.ts'
import type { KeyUse } from '#projections/allowance/query.ts'
import { atFault } from '../context.ts'
import { choice } from '../fields.ts'
import { minuteOf } from '../format.ts'
import { html, type Html } from '../html.ts'

/** A form of one key: what is done with it, and its own fields. */
const formOf = (key: Key, action: string, fields: Html): Html =>
  html`<form class="row" method="post" action="/app/keys">
    <input type="hidden" name="action" value="${action}" /><input type="hidden" name="key" value="${key.id}" />
    ${fields}
  </form>`

/** A summary that somebody who does not see its row can tell from those of other keys. */
const summaryOf = (key: Key, words: string): Html =>
  html`<summary aria-label="${words}: ${key.prefix}…${key.last4} ${key.name}">${words}</summary>`

/** Whether something was typed into this form of this key, and not taken. */
const isOf = (typed: URLSearchParams, action: string, { id }: Key): boolean =>
  typed.get('action') === action && typed.get('key') === id

/** How long the old key may work on, in hours. */
const overlaps = [
  ['24', 'for a day'],
  ['0', 'not at all'],
  ['1', 'for an hour'],
  ['72', 'for three days'],
  ['168', 'for a week'],
  ['720', 'for 30 days'],
] as const

const rotateForm = (key: Key, typed: URLSearchParams): Html => {
  const isTyped = isOf(typed, 'rotate', key)
  const hours = isTyped ? (typed.get('hours') ?? '') : ''
  return html`<details ${isTyped ? html`open` : html``}>
    ${summaryOf(key, 'Rotate')}
    ${formOf(
      key,
      'rotate',
      html`${choice({ label: 'The old key keeps working', name: 'hours', value: hours, options: overlaps })}
        <button type="submit">Create its successor</button>`,
    )}
  </details>`
}

const originsForm = (key: Key, typed: URLSearchParams, wrong: string | undefined): Html => {
  const isTyped = isOf(typed, 'origins', key)
  const origins = isTyped ? (typed.get('origins') ?? '') : key.origins.join(' ')
  return html`<details ${isTyped ? html`open` : html``}>
    ${summaryOf(key, key.origins.length === 0 ? 'any page' : `only ${key.origins.join(' ')}`)}
    ${formOf(
      key,
      'origins',
      html`<label
          >Origins, one after another; none means any page
          <input
            name="origins"
            size="30"
            value="${origins}"
            autocomplete="off"
            ${atFault(isTyped && wrong === 'origins')}
        /></label>
        <button type="submit">Change</button>`,
    )}
  </details>`
}

/** In two steps: it cannot be taken back, and senders lose what they send. */
const revokeForm = (key: Key): Html =>
  html`<details>
    ${summaryOf(key, 'Revoke')}
    <p>At once and for good: whoever still sends with it is refused.</p>
    ${formOf(
      key,
      'revoke',
      html`<button class="danger" type="submit" aria-label="Revoke it: ${key.prefix}…${key.last4} ${key.name}">
        Revoke it
      </button>`,
    )}
  </details>`

const exposedNote = html`<p>
  <strong>Seen in a browser’s request.</strong> A secret that a page sends can be read by everybody who opens the page.
  Rotate it, keep the new one on servers, and give the page a publishable key.
</p>`

function stateOf(key: Key, typed: URLSearchParams): Html {
  const exposed = key.exposed ? exposedNote : html``
  if (key.revokedAt !== null) return html`revoked ${minuteOf(key.revokedAt)}${exposed}`
  const revoke = revokeForm(key)
  if (key.worksUntil === null) return html`${exposed}${rotateForm(key, typed)}${revoke}`
  return html`${exposed}rotated, works until ${minuteOf(key.worksUntil)}${revoke}`
}

/** When keys were used; undefined where the index cannot say so soon. */
export type Uses = ReadonlyMap<string, KeyUse> | undefined

/** Where the page of a new key is, that tells once something has come. */
const waitLink = ({ id, prefix, last4, name }: Key): Html =>
  html`<a href="/app/connect/${id}" aria-label="Wait for it: ${prefix}…${last4} ${name}">Wait for it</a>`

/** Keys that only read leave nothing in the log to tell their use by. */
function lastUsed(key: Key, uses: Uses): Html {
  // Not "never": somebody might revoke it for that.
  if (uses === undefined) return html`<span class="note">not known at the moment</span>`
  const use = uses.get(key.id)
  if (use !== undefined) return html`${minuteOf(use.lastUsedAt)}`
  if (key.scopes.includes('traces:read')) return html`<span class="note">reading is not recorded</span>`
  return key.kind === 'api' || key.revokedAt !== null ? html`never` : html`never<br />${waitLink(key)}`
}

/** What was typed into one of the forms, and the field that was wrong. */
type Typed = Readonly<{ typed: URLSearchParams; wrong: string | undefined }>

const heads = ['Kind', 'Key', 'Name', 'Created', 'Last used', 'State'] as const

function rowOf(key: Key, uses: Uses, { typed, wrong }: Typed): Html {
  const cells = [
    html`${keyKindNames[key.kind]}<br /><span class="note">${key.scopes.join(', ')}</span>`,
    html`<code>${key.prefix}…${key.last4}</code><br /><span class="note">${key.id}</span>`,
    html`${key.name} ${key.kind === 'publishable' && key.revokedAt === null ? originsForm(key, typed, wrong) : html``}`,
    html`${minuteOf(key.createdAt)}`,
    lastUsed(key, uses),
    stateOf(key, typed),
  ]
  return html`<tr>
    ${cells.map((cell, column) => html`<td data-head="${heads[column]}">${cell}</td>`)}
  </tr>`
}

/** Keys as a table, in this order, each with the forms of what can be done with it. */
export const keyTable = (keys: readonly Key[], uses: Uses, typed: Typed): Html =>
  html`<table class="cards" data-filter="Find a key">
    <thead>
      <tr>
        ${heads.map((head) => html`<th scope="col">${head}</th>`)}
      </tr>
    </thead>
    <tbody>
      ${keys.map((key) => rowOf(key, uses, typed))}
    </tbody>
  </table>`
