import type { DirectoryView, Feature, Key, KeyKind, Workspace } from '#src/directory/directory.ts'
import { checkEntitlement } from '#src/directory/entitlement.ts'
import { isWellFormedKey, keyKindNames, keyKindOf, keyPrefixes } from '#src/directory/keys.ts'
import { refusal, type Refusal } from '#src/events/refusal.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import { fail, ok, type Result } from '#src/lib/result.ts'

/** The three ways in, and the one way out that takes a key. */
export type Surface = 'traces' | 'logs' | 'rum' | 'listing'

/** Who a request speaks for. The workspace is the key's, never one that the client names. */
export type Credential = Readonly<{ workspaceId: WorkspaceId; keyId: string; workspace: Workspace; key: Key }>

/** What a request presents: its keys in order of precedence, and its `Origin` header. */
export type Presented = Readonly<{ keys: readonly string[]; origin: string | undefined }>

type Rule = Readonly<{
  kind: KeyKind
  scope: Key['scopes'][number]
  wants: string
  path: string
  features: readonly Feature[]
}>

const named = (kind: KeyKind): string => `a ${keyKindNames[kind]} (${keyPrefixes[kind]}…)`

const rules: Readonly<Record<Surface, Rule>> = {
  traces: {
    kind: 'tracing',
    scope: 'traces:write',
    wants: named('tracing'),
    path: '/api/traces/v1/otlp',
    features: ['tracing'],
  },
  logs: {
    kind: 'logs',
    scope: 'logs:write',
    wants: `${named('logs')}, or ${named('api')} that may write logs`,
    path: '/api/logs/v1/ingest',
    features: ['logs'],
  },
  rum: {
    kind: 'publishable',
    scope: 'rum:write',
    wants: named('publishable'),
    path: '/api/rum/v1/ingest',
    features: [],
  },
  listing: {
    kind: 'api',
    scope: 'traces:read',
    wants: named('api'),
    path: '/api/v1/traces',
    features: ['tracing', 'api_access'],
  },
}

const howToSend = 'Send it as "Authorization: Bearer KEY".'

function missing(surface: Surface): Refusal {
  return refusal('missing_credential', `${rules[surface].path} needs ${rules[surface].wants}. ${howToSend}`)
}

/** Why this key is unknown, as far as its form tells: whoever reads the answer in a sender's log cannot see the key that was sent. */
function unknownKey(surface: Surface, secret: string): Refusal {
  const { wants, path } = rules[surface]
  const takes = `${path} takes ${wants}.`
  if (isWellFormedKey(secret)) return refusal('invalid_credential', `This key is not known. ${takes}`)
  const isCut = keyKindOf(secret) !== undefined
  const what = isCut
    ? 'This key is not whole, or has a mistake in it: its last characters do not fit the others.'
    : 'What was sent as the key is none: look for quotes or an unset variable around it.'
  return refusal('invalid_credential', `${what} ${takes} ${howToSend}`)
}

function wrongKind(surface: Surface, key: Key): Refusal {
  const { wants, path } = rules[surface]
  const belongs = Object.values(rules).find(({ kind }) => kind === key.kind)?.path ?? '/api/v1/traces'
  const isRightButWeak = key.kind === 'api' && (surface === 'logs' || surface === 'listing')
  const has = isRightButWeak ? `a workspace API key without the scope ${rules[surface].scope}` : named(key.kind)
  return refusal('wrong_key_kind', `This is ${has}, which belongs to ${belongs}. ${path} takes ${wants}.`)
}

function allowsOrigin({ origins }: Key, origin: string | undefined): boolean {
  return origin === undefined || origins.length === 0 || origins.includes(origin)
}

/** Whether the key may be used from where the request says it comes from. */
function checkOrigin(surface: Surface, key: Key, origin: string | undefined): Refusal | undefined {
  if (surface === 'rum') {
    if (allowsOrigin(key, origin)) return undefined
    return refusal('origin_not_allowed', 'This publishable key is not allowed on the page that sent this.')
  }
  if (origin === undefined) return undefined
  const instead = `send from a browser with ${named('publishable')} to ${rules.rum.path}`
  return refusal(
    'secret_in_browser',
    `A ${keyKindNames[key.kind]} is a secret and must not be in a browser: ${instead}.`,
  )
}

/** Where browsers send, every presented key must be publishable: any other one has leaked by being in a page. */
function checkNoSecret(
  directory: DirectoryView,
  keys: readonly string[],
  onExposed: (key: Key) => void,
): Refusal | undefined {
  const secret = keys.find((each) => keyKindOf(each) !== 'publishable')
  if (secret === undefined) return undefined
  const known = directory.findKey(secret)
  if (known?.revokedAt === null) onExposed(known)
  const advice = 'If it was used in a page, anybody may have read it: revoke it.'
  return refusal(
    'secret_key_in_browser',
    `${rules.rum.path} takes only ${named('publishable')}; this key is a secret. ${advice}`,
  )
}

/** Of the keys that a request presents, the one that counts: `Authorization` may hold what a proxy in front asks for. */
export const keyThatCounts = ({ keys }: Presented): string | undefined =>
  keys.find((each) => keyKindOf(each) !== undefined) ?? keys[0]

type CredentialOptions = Readonly<{
  directory: DirectoryView
  /** A secret key came where browsers send to: the directory flags it. */
  onExposed: (key: Key) => void
}>

/**
 * Checks what a request presents for one surface, before its body is read: 401 without a valid key, 403 for a key of another
 * kind, from a wrong place, or of a workspace whose plan lacks the feature.
 */
export function checkCredential(
  surface: Surface,
  presented: Presented,
  { directory, onExposed }: CredentialOptions,
): Result<Credential, Refusal> {
  const { keys, origin } = presented
  const secret = keyThatCounts(presented)
  if (secret === undefined) return fail(missing(surface))
  const leaked = surface === 'rum' ? checkNoSecret(directory, keys, onExposed) : undefined
  if (leaked !== undefined) return fail(leaked)
  const key = directory.findKey(secret)
  const workspace = key === undefined ? undefined : directory.workspace(key.workspaceId)
  // First: the keys of a workspace that was erased are revoked.
  if (key !== undefined && key.revokedAt !== null) {
    return fail(refusal('revoked_credential', 'This key has been revoked.'))
  }
  if (key === undefined || workspace === undefined) {
    return fail(unknownKey(surface, secret))
  }
  if (!key.scopes.includes(rules[surface].scope)) return fail(wrongKind(surface, key))
  const refused = checkOrigin(surface, key, origin) ?? checkEntitlement(workspace, rules[surface].features)
  if (refused !== undefined) return fail(refused)
  return ok({ workspaceId: key.workspaceId, keyId: key.id, workspace, key })
}
