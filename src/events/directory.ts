import { createHash } from 'node:crypto'
import { z } from 'zod'
import { PermanentError } from '#src/lib/failure.ts'
import type { NewEvent, RecordedEvent } from './envelope.ts'
import { decodeFact, sealFact } from './fact.ts'
import { workspaceIdOf, type WorkspaceId } from './workspace-id.ts'

/** The workspace of directory events that belong to none: people and their sign-ins. No workspace may have this id. */
export const directoryWorkspaceId = workspaceIdOf('directory')

const id = z.string().min(1).max(64)
const workspaceId = z.string().transform(workspaceIdOf)
const text = z.string().max(1024)
const hash = z.string().max(256)
const kinds = z.enum(['publishable', 'logs', 'tracing', 'api'])
const scopes = z.array(z.enum(['rum:write', 'logs:write', 'traces:write', 'traces:read'])).readonly()
/** Who did it: a user, or null for the operator's command line and the first run. */
const by = id.nullable()

/** Everything that can have happened in the directory, as schema version 1 of each payload. Secrets appear as hashes only. */
const payloads = {
  'directory.workspace.created': z.object({ workspaceId, name: text, plan: text }),
  'directory.workspace.planChanged': z.object({ workspaceId, plan: text, from: text }),
  /** The workspace has ended: its access ends, its data is erased, and its name is free again. */
  'directory.workspace.erased': z.object({ workspaceId, name: text, by }),
  'directory.user.created': z.object({ userId: id, email: text, passwordHash: hash }),
  /**
   * Ends every session of the user. `passwordPosition`: where the password was set that was given for this one; if it has been changed
   * since, nothing changes. Missing where none was asked for, and in the oldest events. `keptSession`: null, as in every event ever written.
   */
  'directory.user.passwordChanged': z.object({
    userId: id,
    passwordHash: hash,
    keptSession: hash.nullable(),
    passwordPosition: z.number().int().nonnegative().optional(),
  }),
  'directory.member.added': z.object({ workspaceId, userId: id, role: z.enum(['owner', 'member']), by }),
  'directory.member.removed': z.object({ workspaceId, userId: id, by }),
  'directory.key.created': z.object({
    workspaceId,
    keyId: id,
    kind: kinds,
    scopes,
    name: text,
    prefix: text,
    last4: text,
    origins: z.array(text).readonly(),
    hash,
    /** Identifies the pepper that keys `hash`. Missing in the oldest events. */
    pepper: hash.optional(),
    by,
  }),
  'directory.key.revoked': z.object({ workspaceId, keyId: id, by }),
  /** Another key has replaced this one, which stays valid until `worksUntil` (ms). */
  'directory.key.rotated': z.object({
    workspaceId,
    keyId: id,
    replacedBy: id,
    worksUntil: z.number().int().nonnegative(),
    by,
  }),
  /** A secret was seen where only a publishable key belongs. */
  'directory.key.exposed': z.object({ workspaceId, keyId: id, where: text }),
  'directory.key.originsChanged': z.object({ workspaceId, keyId: id, origins: z.array(text).readonly(), by }),
  /**
   * `session` is the hash of what the cookie holds. `passwordPosition`: where the checked password was set; if it has been changed since,
   * there is no session. `since` (ms): when it was checked, if this session continues another one.
   */
  'directory.session.started': z.object({
    workspaceId,
    session: hash,
    userId: id,
    address: text,
    passwordPosition: z.number().int().nonnegative(),
    since: z.number().int().nonnegative().optional(),
  }),
  /** Still in use. Written now and then, so that every process knows which sessions are idle. */
  'directory.session.continued': z.object({ session: hash }),
  'directory.session.ended': z.object({ session: hash, userId: id, reason: z.enum(['signedOut', 'replaced']) }),
  /** Refused sign-ins, counted over a period, so that a flood of them is one event. `userId` null: no such user. */
  'directory.signIn.failed': z.object({ userId: id.nullable(), address: text, count: z.number().int().positive() }),
  'directory.logs.exported': z.object({ workspaceId, userId: id, query: z.string().max(8192), format: text }),
} as const

export type DirectoryEventType = keyof typeof payloads
type DirectoryPayload<Type extends DirectoryEventType> = Readonly<z.output<(typeof payloads)[Type]>>
/** A past-tense fact of the directory: its type and its payload. */
export type DirectoryEvent = {
  [Type in DirectoryEventType]: Readonly<{ type: Type }> & DirectoryPayload<Type>
}[DirectoryEventType]

export const directoryEventTypes = Object.keys(payloads) as readonly DirectoryEventType[]

/** Hashed, so that any text fits every engine's subjects. */
function uniqueSubject(kind: 'workspace' | 'email' | 'key', value: string): string {
  return `unique-${kind}-${createHash('sha256').update(value).digest('hex').slice(0, 32)}`
}

/** The subject of all changes of a workspace's members, so that two at once conflict: each is decided from who they are. Older events have none. */
export const membersSubject = (workspaceId: WorkspaceId): string => `members-${workspaceId}`

/**
 * The subject that enforces uniqueness, for `append(…, expected)`: two processes that create the same name or e-mail, or a key of which
 * there can be only one, at once conflict on it.
 */
function subjectOf(event: DirectoryEvent): string | undefined {
  if (event.type === 'directory.workspace.created' || event.type === 'directory.workspace.erased')
    return uniqueSubject('workspace', event.name.toLowerCase())
  if (event.type === 'directory.user.created') return uniqueSubject('email', event.email)
  if (event.type === 'directory.key.created') return uniqueSubject('key', event.keyId)
  if (event.type === 'directory.member.added' || event.type === 'directory.member.removed')
    return membersSubject(event.workspaceId)
  return undefined
}

/** The event as the log takes it. `at` in ms; `unique` 32 hex characters that no other event has. */
export function sealDirectoryEvent(event: DirectoryEvent, at: number, unique: string): NewEvent {
  const { type, ...payload } = event
  const workspaceId = 'workspaceId' in event ? event.workspaceId : directoryWorkspaceId
  const id = `${workspaceId}.directory.${unique}`
  const header = { id, type, workspaceId, at, retentionClass: 'directory', subject: subjectOf(event) }
  return sealFact(header, payloads[type].parse(payload))
}

const isDirectoryEventType = (type: string): type is DirectoryEventType => Object.hasOwn(payloads, type)

/**
 * The fact in a recorded event. An unknown type or version is a PermanentError: a directory read only in part could admit somebody who was
 * shut out.
 */
export function decodeDirectoryEvent(recorded: RecordedEvent): DirectoryEvent {
  const { type, position } = recorded
  const operation = 'read directory event'
  if (!isDirectoryEventType(type)) {
    const hint = 'written by a newer version of Throughline: run that version'
    throw new PermanentError({ operation, subject: `${type} at ${position}`, hint })
  }
  return { type, ...decodeFact<object>(recorded, payloads[type], operation) } as DirectoryEvent
}
