import type { Context } from 'koa'
import type { Feature, Key, Session } from '#src/directory/directory.ts'
import { checkEntitlementNow } from '#src/directory/entitlement.ts'
import type { CreatedKey } from '#src/directory/new-key.ts'
import { keyKindNames } from '#src/directory/keys.ts'
import { refusal, type Refusal } from '#src/events/refusal.ts'
import type { Route } from '#src/http/route.ts'
import { present } from '#src/lib/assert.ts'
import { TransientError } from '#src/lib/failure.ts'
import { readKeyUse } from '#projections/allowance/query.ts'
import { connectScript, copyScript } from '../assets.ts'
import {
  atFault,
  baseUrlOf,
  isOfSeveral,
  notice,
  problem,
  sendSessionPage,
  sessionHere,
  sessionPage,
  type AppContext,
} from '../context.ts'
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
import { connections } from '../guides/connections.ts'
import type { Connection, Filled, Guide } from '../guides/guide.ts'
import { html, type Html } from '../html.ts'
import { seeOther } from '../page.ts'
import { inWorkspace } from '../workspace-links.ts'
import { arrivalOf, type Arrival } from './arrival.ts'
import { connectPath as path, placeholderOf, stepsLinks, stepsOf, stepsWithout } from './connect-steps.ts'

const first = present(connections[0], 'there is something to connect')

const connectionNamed = (name: string | null): Connection | undefined => connections.find(({ id }) => id === name)
const connectionOf = ({ kind }: Key): Connection | undefined => connections.find(({ keyKind }) => keyKind === kind)
const featuresOf = ({ id }: Connection): readonly Feature[] =>
  id === 'traces' ? ['tracing'] : id === 'logs' ? ['logs'] : []

const tabs = (shown: Connection): Html =>
  html`<nav class="tabs" aria-label="What to connect">
    ${connections.map(({ id, name }) =>
      id === shown.id
        ? html`<a href="${path}?what=${id}" aria-current="page">${name}</a> `
        : html`<a href="${path}?what=${id}">${name}</a> `,
    )}
  </nav>`

const originsField = (typed: string, isWrong: boolean): Html =>
  html`<label
    >Pages that may send with it (one origin after another, none means any)
    <input name="origins" autocomplete="off" placeholder="https://shop.example" value="${typed}" ${atFault(isWrong)}
  /></label>`

/** The choice before there is a key. `typed`: a choice that was refused. */
function chooser(session: Session, connection: Connection, typed: URLSearchParams, wrong?: string): Html {
  const { id, guides, keyKind } = connection
  const chosen = guides.find((guide) => guide.id === typed.get('guide')) ?? guides[0]
  return html`<form class="stack" method="post" action="${path}">
    <input type="hidden" name="what" value="${id}" />${placeField(session)}${onceField()}
    <fieldset>
      <legend>What sends?</legend>
      ${guides.map(
        (guide) =>
          html`<label class="check"
            >${
              guide === chosen
                ? html`<input type="radio" name="guide" value="${guide.id}" checked />`
                : html`<input type="radio" name="guide" value="${guide.id}" />`
            }
            ${guide.name}</label
          >`,
      )}
    </fieldset>
    <label
      >Name of the key
      <input
        name="name"
        maxlength="80"
        autocomplete="off"
        placeholder="which program it is for"
        value="${typed.get('name') ?? ''}"
        ${atFault(wrong === 'name')}
    /></label>
    ${keyKind === 'publishable' ? originsField(typed.get('origins') ?? '', wrong === 'origins') : html``}
    <button type="submit">Create a ${keyKindNames[keyKind]} and show me how</button>
  </form>`
}

const arrivalPath = (keyId: string): string => `${path}/${keyId}`

function arrivalSection(key: Key, { state, text, link }: Arrival): Html {
  return html`<section data-arrival="${arrivalPath(key.id)}/arrival" data-state="${state}">
    <h2>Has it arrived?</h2>
    <p class="notice" role="status"><span data-text>${text}</span> <a href="${link.path}">${link.text}</a></p>
  </section>`
}

async function readArrival(app: AppContext, connection: Connection, key: Key): Promise<Arrival> {
  const { workspaceId, id } = key
  const use = await readKeyUse(app.readerOf(workspaceId), workspaceId, [id])
  return arrivalOf(connection, use.get(id), arrivalPath(id))
}

const filledOf = (ctx: Context, app: AppContext, secret: string): Filled => ({
  baseUrl: baseUrlOf(ctx, app),
  secret,
  recordsPerBatchMax: app.limits.recordsPerBatchMax,
})

async function sendChooser(ctx: Context, app: AppContext): Promise<void> {
  const session = sessionHere(ctx)
  const typed = new URLSearchParams(ctx.querystring)
  const connection = connectionNamed(typed.get('what')) ?? first
  const lacking = await checkEntitlementNow(app.directory, session.workspaceId, featuresOf(connection))
  const steps = connection.guides.find(({ id }) => id === typed.get('steps'))
  const form = html`${notice(typed.has('guide') ? notSentYet : undefined)}${chooser(session, connection, typed)}${stepsLinks(connection)}`
  const shown =
    steps === undefined ? form : stepsWithout(connection, steps, filledOf(ctx, app, placeholderOf(connection)))
  const body = html`${tabs(connection)}${lacking === undefined ? shown : problem(lacking.detail)}`
  await sendSessionPage(ctx, app, {
    title: 'Connect',
    about: steps?.name,
    body,
    scripts: steps === undefined ? [] : [copyScript],
  })
}

type Chosen = Readonly<{ connection: Connection; guide: Guide; created: CreatedKey }>

/** Answered in place, not by a redirect: the secret must not get into an address or a cache. */
async function sendGuide(ctx: Context, app: AppContext, { connection, guide, created }: Chosen): Promise<void> {
  const { key, secret } = created
  const filled = filledOf(ctx, app, secret)
  const others = connection.guides.filter(({ id }) => id !== guide.id)
  const arrival = await readArrival(app, connection, key)
  const body = html`<div class="notice" role="status">
      <p>
        Your new ${keyKindNames[key.kind]}. Copy it now: it is not stored and cannot be shown again. It is filled in
        below already.
      </p>
      <pre data-secret>${secret}</pre>
    </div>
    <h2>${guide.name}</h2>
    ${stepsOf(guide, filled)}${arrivalSection(key, arrival)}
    <h2>Other ways, with the same key</h2>
    ${others.map(
      (other) =>
        html`<details>
          <summary>${other.name}</summary>
          ${stepsOf(other, filled)}
        </details>`,
    )}`
  await sendSessionPage(ctx, app, {
    title: `Connect: ${connection.name.toLowerCase()}`,
    body,
    scripts: [connectScript, copyScript],
  })
}

/** The key's fields in a form. Without a name, the key is named after what sends with it. */
function readKey(form: URLSearchParams, guide: Guide) {
  const name = form.get('name')?.trim() ?? ''
  return { name: name === '' ? guide.name : name, origins: originsIn(form), once: onceOf(form) }
}

async function handleConnect(ctx: Context, app: AppContext): Promise<Refusal | void> {
  const form = await readOwnForm(ctx, app)
  if (!form.ok) return form.error
  const session = sessionHere(ctx)
  const { workspaceId, userId } = session
  const connection = connectionNamed(form.value.get('what'))
  const guide = connection?.guides.find(({ id }) => id === form.value.get('guide'))
  if (connection === undefined || guide === undefined) {
    return refusal('invalid_request', 'The form says neither what is to be connected nor how.')
  }
  const lacking = await checkEntitlementNow(app.directory, workspaceId, featuresOf(connection))
  if (lacking !== undefined) return lacking
  const sendAgain = (problemText: string, field: string): Promise<void> => {
    const body = html`${tabs(connection)}${problem(problemText)}${chooser(session, connection, form.value, field)}`
    return sendSessionPage(ctx, app, { title: 'Connect', body, status: 400 })
  }
  const elsewhere = shownElsewhere(form.value, session)
  if (elsewhere !== undefined) return sendAgain(elsewhere, 'name')
  const created = await app.directory.createKey({
    workspaceId,
    kind: connection.keyKind,
    by: userId,
    ...readKey(form.value, guide),
  })
  if (created.ok) return sendGuide(ctx, app, { connection, guide, created: created.value })
  const { keyId, detail, field } = created.error
  // The form was sent again, as by a reload: the key exists, and its page shows it without the secret.
  return keyId === undefined ? sendAgain(detail, field) : seeOther(ctx, arrivalPath(keyId))
}

/**
 * A key of the session's workspace that something can be connected with. Waits for the directory to catch up, because another process may just have
 * made the key.
 */
async function keyHere(
  ctx: Context,
  { directory }: AppContext,
): Promise<Readonly<{ key: Key; connection: Connection }> | undefined> {
  const { workspaceId } = sessionHere(ctx)
  const { key: id } = ctx['params'] as { key: string }
  if (directory.key(id) === undefined && !(await directory.caughtUp())) {
    throw new TransientError({ operation: 'find', subject: 'a key', hint: 'the directory cannot be told' })
  }
  const key = directory.key(id)
  const connection = key === undefined ? undefined : connectionOf(key)
  return key?.workspaceId !== workspaceId || connection === undefined ? undefined : { key, connection }
}

const noKey = refusal('not_found', 'There is no such key.')

/** The arrival page without the secret: for a reload, and for browsers without scripts. */
async function sendArrivalPage(ctx: Context, app: AppContext): Promise<Refusal | void> {
  const found = await keyHere(ctx, app)
  if (found === undefined) return noKey
  const { key, connection } = found
  const arrival = await readArrival(app, connection, key)
  const body = html`<p>
      The ${keyKindNames[key.kind]} <code>${key.prefix}…${key.last4}</code> ${key.name === '' ? '' : `(${key.name})`}.
      Its secret was shown when it was created, and cannot be shown again: whoever has not copied it revokes it under
      <a href="/app/keys">Keys</a>, and creates another one.
    </p>
    ${arrivalSection(key, arrival)}`
  await sendSessionPage(ctx, app, {
    title: `Connect: ${connection.name.toLowerCase()}`,
    body,
    scripts: [connectScript],
  })
}

async function sendArrival(ctx: Context, app: AppContext): Promise<Refusal | void> {
  const found = await keyHere(ctx, app)
  if (found === undefined) return noKey
  ctx.set('Cache-Control', 'no-store')
  const arrival = await readArrival(app, found.connection, found.key)
  const { text, path: address } = arrival.link
  // The script inserts the link into a page whose own links already name the workspace.
  const marked = isOfSeveral(app, sessionHere(ctx)) ? inWorkspace(address, found.key.workspaceId) : address
  ctx.body = { ...arrival, link: { text, path: marked } }
}

const typedFields = ['what', 'guide', 'name', 'origins'] as const

/** Lets a person choose what sends, makes a key, shows the steps, and waits for the first record. */
export function createConnectRoutes(app: AppContext): Route[] {
  const page = sessionPage(app.refuse)
  return [
    { ...page, path, method: 'GET', handler: (ctx) => sendChooser(ctx, app) },
    {
      ...page,
      path,
      method: 'POST',
      back: backWithTyped(app, path, typedFields),
      handler: (ctx) => handleConnect(ctx, app),
    },
    { ...page, path: `${path}/:key`, method: 'GET', handler: (ctx) => sendArrivalPage(ctx, app) },
    { path: `${path}/:key/arrival`, method: 'GET', auth: 'session', handler: (ctx) => sendArrival(ctx, app) },
  ]
}
