import type { Key } from '#src/directory/directory.ts'
import { keyKindNames } from '#src/directory/keys.ts'
import type { KeyUse } from '#projections/allowance/query.ts'
import { atFault } from '../context.ts'
import { choice } from '../fields.ts'
import { minuteOf } from '../format.ts'
import { html, type Html } from '../html.ts'

/** A form for an action on one key, with the action's own fields. */
const formOf = (key: Key, action: string, fields: Html): Html =>
  html`<form class="row" method="post" action="/app/keys">
    <input type="hidden" name="action" value="${action}" /><input type="hidden" name="key" value="${key.id}" />
    ${fields}
  </form>`

/** A summary with an accessible name that tells it apart from those of other keys. */
const summaryOf = (key: Key, words: string): Html =>
  html`<summary aria-label="${words}: ${key.prefix}…${key.last4} ${key.name}">${words}</summary>`

/** Whether this form of this key was sent and refused. */
const isOf = (typed: URLSearchParams, action: string, { id }: Key): boolean =>
  typed.get('action') === action && typed.get('key') === id

/** How long the old key stays valid, in hours. */
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

/** In two steps, because it cannot be undone and senders lose data. */
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

/** When keys were last used; undefined if the index does not answer in time. */
export type Uses = ReadonlyMap<string, KeyUse> | undefined

/** A link to the page that waits for a new key's first record. */
const waitLink = ({ id, prefix, last4, name }: Key): Html =>
  html`<a href="/app/connect/${id}" aria-label="Wait for it: ${prefix}…${last4} ${name}">Wait for it</a>`

/** When a key was last used. Reading leaves nothing in the log, so for keys that read it is not known. */
function lastUsed(key: Key, uses: Uses): Html {
  // Not "never": somebody might revoke the key because of that.
  if (uses === undefined) return html`<span class="note">not known at the moment</span>`
  const use = uses.get(key.id)
  if (use !== undefined) return html`${minuteOf(use.lastUsedAt)}`
  if (key.scopes.includes('traces:read')) return html`<span class="note">reading is not recorded</span>`
  return key.kind === 'api' || key.revokedAt !== null ? html`never` : html`never<br />${waitLink(key)}`
}

/** What was typed into one of the forms, and which field was wrong. */
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

/** A table of keys in the given order, each with forms for its actions. */
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
