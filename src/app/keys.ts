import type { Context } from 'koa'
import type { Key, KeyKind } from '#src/directory/directory.ts'
import { keyKindNamed, keyKindNames, keyKinds } from '#src/directory/keys.ts'
import type { CreatedKey } from '#src/directory/new-key.ts'
import type { Refusal } from '#src/events/refusal.ts'
import { refusal } from '#src/events/refusal.ts'
import type { Route } from '#src/http/route.ts'
import { formatMinute, problem, sendSessionPage, sessionHere, type AppContext } from './context.ts'
import { readForm } from './form.ts'
import { html, type Html } from './html.ts'
import { refusePage, seeOther } from './page.ts'

const uses: Readonly<Record<KeyKind, string>> = {
  publishable: 'browsers, public',
  logs: 'servers that send logs',
  tracing: 'servers that send traces',
  api: 'programs that list traces',
}

function stateOf(key: Key): Html {
  const exposed = key.exposed ? html` <strong>Seen in a browser: revoke it.</strong>` : html``
  if (key.revokedAt !== null) return html`revoked ${formatMinute(key.revokedAt)}${exposed}`
  return html`<form method="post" action="/app/keys">
      <input type="hidden" name="action" value="revoke" /><input type="hidden" name="key" value="${key.id}" />
      <button class="danger" type="submit">Revoke</button>
    </form>
    ${exposed}`
}

const rowOf = (key: Key): Html =>
  html`<tr>
    <td>${keyKindNames[key.kind]}<br /><span class="note">${key.scopes.join(', ')}</span></td>
    <td><code>${key.prefix}…${key.last4}</code><br /><span class="note">${key.id}</span></td>
    <td>
      ${key.name}${key.origins.length === 0 ? html`` : html`<br /><span class="note">only ${key.origins.join(' ')}</span>`}
    </td>
    <td>${formatMinute(key.createdAt)}</td>
    <td>${stateOf(key)}</td>
  </tr>`

const createForm = html`<form class="stack" method="post" action="/app/keys">
  <input type="hidden" name="action" value="create" />
  <label
    >Kind
    <select name="kind">
      ${keyKinds.map((kind) => html`<option value="${kind}">${keyKindNames[kind]}: ${uses[kind]}</option>`)}
    </select></label
  >
  <label>Name <input name="name" maxlength="80" autocomplete="off" /></label>
  <label
    >Origins (publishable keys; one after another, none means any)
    <input name="origins" autocomplete="off" placeholder="https://shop.example"
  /></label>
  <label class="check"><input name="writeLogs" type="checkbox" value="1" /> An API key may send logs too</label>
  <button type="submit">Create key</button>
</form>`

const shownOnce = ({ key, secret }: CreatedKey): Html =>
  html`<div class="notice" role="status">
    <p>Your new ${keyKindNames[key.kind]}. Copy it now: it is not stored and cannot be shown again.</p>
    <pre>${secret}</pre>
  </div>`

type Shown = Readonly<{ created?: CreatedKey; problem?: string }>

function sendKeys(ctx: Context, app: AppContext, shown: Shown = {}): Promise<void> {
  const keys = app.directory.keys(sessionHere(ctx).workspaceId)
  const live = keys.filter(({ revokedAt }) => revokedAt === null)
  const body = html`${problem(shown.problem)}${shown.created === undefined ? html`` : shownOnce(shown.created)}
    <table>
      <thead>
        <tr>
          <th>Kind</th>
          <th>Key</th>
          <th>Name</th>
          <th>Created</th>
          <th></th>
        </tr>
      </thead>
      <tbody>
        ${[...live, ...keys.filter(({ revokedAt }) => revokedAt !== null)].map(rowOf)}
      </tbody>
    </table>
    <h2>New key</h2>
    ${createForm}`
  return sendSessionPage(ctx, app, { title: 'Keys', body, status: shown.problem === undefined ? 200 : 400 })
}

async function create(ctx: Context, app: AppContext, form: URLSearchParams): Promise<void> {
  const { workspaceId, userId } = sessionHere(ctx)
  const kind = keyKindNamed(form.get('kind') ?? '')
  if (kind === undefined) return sendKeys(ctx, app, { problem: 'Choose a kind of key.' })
  const name = form.get('name') ?? ''
  const origins = (form.get('origins') ?? '').split(/[\s,]+/).filter((origin) => origin !== '')
  const scopes =
    kind === 'api' && form.get('writeLogs') === '1' ? { scopes: ['traces:read', 'logs:write'] as const } : {}
  const created = await app.directory.createKey({ workspaceId, kind, name, origins, by: userId, ...scopes })
  // Answered in place and not by a redirect: the secret must be in no address and in no store.
  return sendKeys(ctx, app, created.ok ? { created: created.value } : { problem: created.error.detail })
}

async function handleKeys(ctx: Context, app: AppContext): Promise<Refusal | void> {
  const form = await readForm(ctx, app)
  if (!form.ok) return form.error
  const { workspaceId, userId } = sessionHere(ctx)
  const action = form.value.get('action')
  if (action === 'create') return create(ctx, app, form.value)
  if (action !== 'revoke') return refusal('invalid_request', 'The form says neither create nor revoke.')
  const keyId = form.value.get('key') ?? ''
  const revoked = await app.directory.revokeKey({ workspaceId, keyId, by: userId })
  return revoked.ok ? seeOther(ctx, '/app/keys') : refusal('not_found', revoked.error.detail)
}

/** The workspace's keys: list, make, revoke. */
export function createKeyRoutes(app: AppContext): Route[] {
  const page = { path: '/app/keys', auth: 'session', signInPage: '/app/sign-in', refuse: refusePage } as const
  return [
    { ...page, method: 'GET', handler: (ctx) => sendKeys(ctx, app) },
    { ...page, method: 'POST', handler: (ctx) => handleKeys(ctx, app) },
  ]
}
