import { createHash } from 'node:crypto'
import type { NewEvent } from '#src/events/envelope.ts'
import { erasuresSubject } from '#src/events/erasure.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'

/**
 * The names of a log on the server. Its subjects contain its epoch. So writes to a log that was recreated reach nobody, and messages of the
 * former log are recognized:
 *
 * `telemetry.<partition>.<epoch>.<workspace>.<type>`   events without a subject of their own: a workspace can be purged
 * `telemetry.<partition>.<epoch>._.<subject>`          the others: their order is kept by `Nats-Expected-Last-Subject-Sequence`
 */
export type LogName = Readonly<{ stream: string; root: string; partition: string }>

/** The directory's log, as a partition. */
export const directoryPartition = 'directory'

/** The names of a partition's stream. `prefix` keeps several installations on one server apart. */
export function logName(partition: string, prefix = ''): LogName {
  if (!/^[A-Za-z0-9-]*$/.test(prefix)) throw new Error('a prefix of streams is letters, digits and dashes')
  const before = prefix === '' ? '' : `${prefix}-`
  return partition === directoryPartition
    ? { stream: `${before}DIRECTORY`, root: `${before}directory`, partition }
    : { stream: `${before}TELEMETRY_${partition}`, root: `${before}telemetry.${partition}`, partition }
}

/** Beyond this an escaped subject is hashed: the server takes 4,096 bytes for a whole command line. */
const subjectCharactersMax = 512

function escapeToken(token: string): string {
  if (token === '') return '%'
  return Buffer.from(token)
    .toString('latin1')
    .replaceAll(/[^A-Za-z0-9_-]/g, (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`)
}

/** Any text as subject tokens; different texts give different tokens. Dots stay dots, so that wildcards work. */
export function escapeSubject(subject: string): string {
  const escaped = subject.split('.').map(escapeToken).join('.')
  return escaped.length <= subjectCharactersMax
    ? escaped
    : `%long.${createHash('sha256').update(subject).digest('hex')}`
}

export type Subjects = Readonly<{
  ofEvent(event: NewEvent): string
  /** The subject of all events with this subject, of any workspace. */
  ofSubject(subject: string): string
  /** Wildcards for everything that belongs to one workspace only, except its erasures. */
  ofWorkspace(workspaceId: WorkspaceId): readonly string[]
  /** Wildcard for erasures of workspaces. */
  ofErasures: string
  /** Whether a stored message belongs to this log. */
  holds(subject: string): boolean
}>

export function createSubjects({ root }: LogName, epoch: string): Subjects {
  const base = `${root}.${epoch}.`
  const ofSubject = (subject: string): string => `${base}_.${escapeSubject(subject)}`
  return {
    ofSubject,
    ofEvent: ({ subject, workspaceId, type }) =>
      subject === undefined ? `${base}${workspaceId}.${type}` : ofSubject(subject),
    ofWorkspace: (workspaceId) => [`${base}_.*.${workspaceId}.>`, `${base}${workspaceId}.>`],
    ofErasures: `${base}_.${erasuresSubject}.>`,
    holds: (subject) => subject.startsWith(base),
  }
}
