import type { Context } from 'koa'
import type { Key, KeyKind, Session } from '#src/directory/directory.ts'
import { keyKindNamed, keyKindNames, keyKinds } from '#src/directory/keys.ts'
import type { CreatedKey } from '#src/directory/new-key.ts'
import type { Refused } from '#src/directory/directory-writer.ts'
import { overlapMsUsual } from '#src/directory/rotate-key.ts'
import { refusal, type Refusal } from '#src/events/refusal.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import type { Route } from '#src/http/route.ts'
import { readKeyUse } from '#projections/allowance/query.ts'
import { inTime } from '#src/lib/in-time.ts'
import { copyScript, filterScript } from '../assets.ts'
import {
  atFault,
  figureTimeoutMs,
  notice,
  problem,
  sendSessionPage,
  sessionHere,
  sessionPage,
  type AppContext,
} from '../context.ts'
import { checkbox, choice } from '../fields.ts'
import {
  backWithTyped,
  notSentYet,
  onceField,
  onceOf,
  originsIn,
  placeField,
  readOwnForm,
  shownElsewhere,
} from '../form.ts'
import { minuteOf } from '../format.ts'
import { html, type Html } from '../html.ts'
import { seeOther } from '../page.ts'
import { keyTable, type Uses } from './key-table.ts'

/** What each kind of key is for. */
const purposes: Readonly<Record<KeyKind, string>> = {
  publishable: 'browsers, public',
  logs: 'servers that send logs',
  tracing: 'servers that send traces',
  api: 'programs that list traces',
}

function createForm(session: Session, given: URLSearchParams, wrong: string | undefined): Html {
  const isTyped = given.get('action') === 'create'
  const typed = (name: string): string => (isTyped ? (given.get(name) ?? '') : '')
  const fault = (name: string): Html => atFault(isTyped && name === wrong)
  const isBack = isTyped && wrong === undefined
  const kinds = keyKinds.map((kind) => [kind, `${keyKindNames[kind]}: ${purposes[kind]}`] as const)
  return html`<form class="stack" method="post" action="/app/keys">
    <input type="hidden" name="action" value="create" />${placeField(session)}${onceField()}
    ${choice({ label: 'Kind', name: 'kind', value: typed('kind'), options: kinds })}
    <label
      >Name
      <input
        name="name"
        maxlength="80"
        autocomplete="off"
        value="${typed('name')}"
        ${isBack ? html`autofocus` : fault('name')}
    /></label>
    <label
      >Origins (publishable keys; one after another, none means any)
      <input
        name="origins"
        autocomplete="off"
        placeholder="https://shop.example"
        value="${typed('origins')}"
        ${fault('origins')}
    /></label>
    ${checkbox('writeLogs', '1', 'An API key may send logs too', typed('writeLogs') === '1')}
    <button type="submit">Create key</button>
  </form>`
}

const shownOnce = ({ key, secret }: CreatedKey): Html =>
  html`<div class="notice" role="status">
    <p>Your new ${keyKindNames[key.kind]}. Copy it now: it is not stored and cannot be shown again.</p>
    <pre data-secret>${secret}</pre>
  </div>`

/** A problem with a sent form (`typed`), and the field that it is about. */
type Wrong = Readonly<{ problem: string; field?: string; typed: URLSearchParams }>
type Shown = Partial<Wrong> & Readonly<{ created?: CreatedKey; notice?: Html }>

async function usesOf(app: AppContext, workspaceId: WorkspaceId, keys: readonly Key[]): Promise<Uses> {
  if (keys.length === 0) return new Map()
  const ids = keys.map(({ id }) => id)
  return inTime(readKeyUse(app.readerOf(workspaceId), workspaceId, ids), figureTimeoutMs)
}

async function sendKeys(ctx: Context, app: AppContext, shown: Shown = {}): Promise<void> {
  const session = sessionHere(ctx)
  const keys = app.directory.keys(session.workspaceId)
  const uses = await usesOf(app, session.workspaceId, keys)
  const live = keys.filter(({ revokedAt }) => revokedAt === null)
  const sorted = [...live, ...keys.filter(({ revokedAt }) => revokedAt !== null)]
  const typed = shown.typed ?? new URLSearchParams(ctx.method === 'GET' ? ctx.querystring : '')
  const isBack = ctx.method === 'GET' && typed.has('action')
  const body = html`${problem(shown.problem)}${notice(isBack ? notSentYet : shown.notice)}
    ${shown.created === undefined ? html`` : shownOnce(shown.created)}
    ${keys.length === 0 ? html`<p>There are no keys yet.</p>` : keyTable(sorted, uses, { typed, wrong: shown.field })}
    <h2>New key</h2>
    ${createForm(session, typed, shown.field)}`
  const scripts = [filterScript, ...(shown.created === undefined ? [] : [copyScript])]
  return sendSessionPage(ctx, app, { title: 'Keys', body, status: shown.problem === undefined ? 200 : 400, scripts })
}

const wrongIn = (typed: URLSearchParams, { detail, field }: Refused): Wrong => ({ problem: detail, field, typed })

async function create(ctx: Context, app: AppContext, form: URLSearchParams): Promise<void> {
  const session = sessionHere(ctx)
  const { workspaceId, userId } = session
  const elsewhere = shownElsewhere(form, session)
  if (elsewhere !== undefined) return sendKeys(ctx, app, { problem: elsewhere, typed: form, field: 'name' })
  const kind = keyKindNamed(form.get('kind') ?? '')
  if (kind === undefined) return sendKeys(ctx, app, { problem: 'Choose a kind of key.', typed: form, field: 'kind' })
  const name = form.get('name') ?? ''
  const origins = originsIn(form)
  const scopes =
    kind === 'api' && form.get('writeLogs') === '1' ? { scopes: ['traces:read', 'logs:write'] as const } : {}
  const once = onceOf(form)
  const created = await app.directory.createKey({ workspaceId, kind, name, origins, by: userId, once, ...scopes })
  // Answered in place, not by a redirect: the secret must not get into an address or a cache.
  return sendKeys(ctx, app, created.ok ? { created: created.value } : wrongIn(form, created.error))
}

type OneKey = Readonly<{ workspaceId: WorkspaceId; keyId: string; by: string }>

/** Refuses a form about one key, which may no longer exist. */
async function refuse(ctx: Context, app: AppContext, form: URLSearchParams, refused: Refused): Promise<Refusal | void> {
  if (refused.code === 'unknown') return refusal('not_found', refused.detail)
  return sendKeys(ctx, app, wrongIn(form, refused))
}

async function rotate(ctx: Context, app: AppContext, which: OneKey, form: URLSearchParams): Promise<Refusal | void> {
  const hours = form.get('hours') ?? ''
  // Text that is not a number of hours is refused like a number that is too large.
  const overlapMs = hours === '' ? overlapMsUsual : /^\d+$/.test(hours) ? Number(hours) * 3_600_000 : Number.NaN
  const done = await app.directory.rotateKey({ ...which, overlapMs })
  if (!done.ok) return refuse(ctx, app, form, done.error)
  const { rotated } = done.value
  const old = `${rotated.prefix}…${rotated.last4}`
  const until = rotated.revokedAt === null ? html`works until ${minuteOf(rotated.worksUntil ?? 0)}` : 'is revoked'
  return sendKeys(ctx, app, { created: done.value, notice: html`The old key ${old} ${until}.` })
}

async function change(ctx: Context, app: AppContext, which: OneKey, form: URLSearchParams): Promise<Refusal | void> {
  const changed = await app.directory.changeOrigins({ ...which, origins: originsIn(form) })
  return changed.ok ? seeOther(ctx, '/app/keys') : refuse(ctx, app, form, changed.error)
}

async function revoke(ctx: Context, app: AppContext, which: OneKey): Promise<Refusal | void> {
  const revoked = await app.directory.revokeKey(which)
  return revoked.ok ? seeOther(ctx, '/app/keys') : refusal('not_found', revoked.error.detail)
}

async function handleKeys(ctx: Context, app: AppContext): Promise<Refusal | void> {
  const form = await readOwnForm(ctx, app)
  if (!form.ok) return form.error
  const { workspaceId, userId } = sessionHere(ctx)
  const which = { workspaceId, keyId: form.value.get('key') ?? '', by: userId }
  switch (form.value.get('action') ?? '') {
    case 'create':
      return create(ctx, app, form.value)
    case 'rotate':
      return rotate(ctx, app, which, form.value)
    case 'origins':
      return change(ctx, app, which, form.value)
    case 'revoke':
      return revoke(ctx, app, which)
    default:
      return refusal('invalid_request', 'The form does not say what is to be done.')
  }
}

/** Fields that are kept while the sender signs in. They name a key, but have no secret. */
const typedFields = ['action', 'key', 'kind', 'name', 'origins', 'writeLogs', 'hours'] as const

/** The workspace's keys: list, create, rotate, bind to origins, revoke. */
export function createKeyRoutes(app: AppContext): Route[] {
  const page = { ...sessionPage(app.refuse), path: '/app/keys' }
  return [
    { ...page, method: 'GET', handler: (ctx) => sendKeys(ctx, app) },
    {
      ...page,
      method: 'POST',
      back: backWithTyped(app, page.path, typedFields),
      handler: (ctx) => handleKeys(ctx, app),
    },
  ]
}
