import type { Context } from 'koa'
import type { AuditEntry } from '#src/directory/read-audit.ts'
import type { DirectoryEvent } from '#src/events/directory.ts'
import { refusal, type Refusal } from '#src/events/refusal.ts'
import type { Route } from '#src/http/route.ts'
import { isOwner, sendSessionPage, sessionHere, sessionPage, type AppContext } from '../context.ts'
import { minuteOf } from '../format.ts'
import { html, type Html } from '../html.ts'

const path = '/app/audit'
const entriesPerPage = 50

/** Looks up names for ids in events. */
type Names = Readonly<{ person: (userId: string) => string; key: (keyId: string) => string }>

/** The conditions of an export as they were typed, not as they are encoded in an address. */
const conditionsIn = (query: string): string =>
  [...new URLSearchParams(query)]
    .filter(([name, value]) => name !== 'format' && value !== '')
    .map(([name, value]) => `${name}=${value}`)
    .join(', ')

function namesIn({ directory }: AppContext): Names {
  return {
    person: (userId) => directory.user(userId)?.email ?? userId,
    key: (keyId) => {
      const key = directory.key(keyId)
      return key === undefined ? keyId : `${key.prefix}…${key.last4}${key.name === '' ? '' : ` (${key.name})`}`
    },
  }
}

type Fact<Type extends DirectoryEvent['type']> = Extract<DirectoryEvent, { type: Type }>
type Deeds = { [Type in DirectoryEvent['type']]: (event: Fact<Type>, names: Names) => string | Html }

/** Each event as a sentence. */
const deeds: Deeds = {
  'directory.workspace.created': ({ plan }) => `The workspace was created with the plan ${plan}.`,
  'directory.workspace.planChanged': ({ from, plan }) => `The plan was changed from ${from} to ${plan}.`,
  'directory.workspace.erased': () => 'The workspace was erased.',
  'directory.user.created': ({ email }) => `The account ${email} was created.`,
  'directory.user.passwordChanged': ({ userId }, { person }) => `The password of ${person(userId)} was changed.`,
  'directory.member.added': ({ userId, role }, { person }) => `${person(userId)} became a member (${role}).`,
  'directory.member.removed': ({ userId }, { person }) => `${person(userId)} was removed.`,
  'directory.key.created': ({ keyId }, { key }) => `The key ${key(keyId)} was created.`,
  'directory.key.rotated': ({ keyId, replacedBy, worksUntil }, { key }) =>
    html`The key ${key(keyId)} was rotated to ${key(replacedBy)}; it works until ${minuteOf(worksUntil)}.`,
  'directory.key.revoked': ({ keyId }, { key }) => `The key ${key(keyId)} was revoked.`,
  'directory.key.exposed': ({ keyId, where }, { key }) =>
    `The secret key ${key(keyId)} was seen in a browser’s request to ${where}.`,
  'directory.key.originsChanged': ({ keyId, origins }, { key }) =>
    `The key ${key(keyId)} may be used ${origins.length === 0 ? 'from any page' : `only from ${origins.join(' ')}`}.`,
  'directory.session.started': ({ address }) =>
    address === '' ? 'Came from another workspace, or an unknown address.' : `Signed in from ${address}.`,
  'directory.session.continued': () => 'The session was in use.',
  'directory.session.ended': ({ reason }) =>
    reason === 'signedOut' ? 'Signed out.' : 'The session was replaced by another.',
  'directory.signIn.failed': ({ count, address }) =>
    `${count === 1 ? 'A sign-in' : `${count} sign-ins`} failed from ${address}.`,
  'directory.logs.exported': ({ format, query }) =>
    `Logs were exported as ${format}: ${conditionsIn(query) || 'all of the last 24 hours'}`,
}

function deedOf<Type extends DirectoryEvent['type']>(event: Fact<Type>, names: Names): string | Html {
  const tell = deeds[event.type]
  return tell(event, names)
}

/** Who caused an event: a person, or the operator on the command line. */
function whoOf(event: DirectoryEvent, { person }: Names): string {
  if ('by' in event) return event.by === null ? 'the operator' : person(event.by)
  // A person who changes their own password gives the previous one, whose position the event then has.
  if (event.type === 'directory.user.passwordChanged' && event.passwordPosition === undefined) return 'the operator'
  if ('userId' in event && event.userId !== null) return person(event.userId)
  return event.type === 'directory.key.exposed' ? 'somebody’s browser' : 'the operator'
}

const rowOf = ({ at, event }: AuditEntry, names: Names): Html =>
  html`<tr>
    <td class="time" data-head="When">${minuteOf(at)}</td>
    <td data-head="Who">${whoOf(event, names)}</td>
    <td data-head="What">${deedOf(event, names)}</td>
  </tr>`

async function sendAudit(ctx: Context, app: AppContext): Promise<Refusal | void> {
  const session = sessionHere(ctx)
  if (!isOwner(app, session)) return refusal('forbidden', 'Only owners of the workspace see what was done in it.')
  const given = new URLSearchParams(ctx.querystring).get('before') ?? ''
  const before = /^\d{1,15}$/.test(given) ? { before: Number(given) } : {}
  const { entries, next } = await app.directory.audit(session.workspaceId, { ...before, limit: entriesPerPage })
  const names = namesIn(app)
  const body = html`<table class="cards">
      <thead>
        <tr>
          <th scope="col">When</th>
          <th scope="col">Who</th>
          <th scope="col">What</th>
        </tr>
      </thead>
      <tbody>
        ${entries.map((entry) => rowOf(entry, names))}
      </tbody>
    </table>
    ${next === null ? html`` : html`<p><a rel="next" href="${path}?before=${next}">Before that</a></p>`}`
  return sendSessionPage(ctx, app, { title: 'Audit', body })
}

/** The audit page, for the owners of a workspace. */
export const createAuditRoutes = (app: AppContext): Route[] => [
  { ...sessionPage(app.refuse), path, method: 'GET', handler: (ctx) => sendAudit(ctx, app) },
]
