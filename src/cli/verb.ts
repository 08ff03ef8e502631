import type { ParseArgsOptionsConfig } from 'node:util'
import type { Directory } from '#src/directory/create-directory.ts'
import type { Limits } from '#src/config.ts'
import type { Plans } from '#src/directory/plans.ts'
import type { Key, User, Workspace } from '#src/directory/directory.ts'
import type { Refused } from '#src/directory/directory-writer.ts'
import type { RandomBytes } from '#src/directory/keys.ts'
import type { Secrets } from '#src/directory/secrets.ts'
import type { Position } from '#src/events/envelope.ts'
import type { Clock } from '#src/lib/clock.ts'
import { fail, type Result } from '#src/lib/result.ts'
import { shellWord } from '#src/lib/shell-quote.ts'
import type { BuildContext } from '#projections/builds/build-place.ts'
import type { IndexReader } from '#projections/index-store.ts'
import type { CopiedLog } from '#streams/copy-log.ts'
import type { Quarantined } from '#streams/sqlite/mending/quarantine.ts'
import type { Stream } from '#streams/stream.ts'

/** What the command line is run with: the process's own, or a test's. */
export type CliIo = Readonly<{
  stdout: Readonly<{ write(text: string): unknown }>
  stderr: Readonly<{ write(text: string): unknown; isTTY?: boolean }>
  stdin: NodeJS.ReadableStream & { isTTY?: boolean; destroy?: () => unknown }
  env: Readonly<Record<string, string | undefined>>
  /** Told before the answer is written: what to say where that fails. */
  ifUnseen?: (detail: string) => void
}>

/** An index of one partition, as far as "throughline status" reads it. */
export type IndexProgress = Pick<IndexReader, 'progress' | 'close'>

/** The engines of a data folder, or of a cluster, and what else compose.ts knows. Everything opened here is closed by the command line. */
export type CliServices = Readonly<{
  plans: Plans
  limits: Limits
  /** The directory's log, for appending beside running servers, and what keys the hashes of its keys. */
  openDirectory(dataFolder: string): Promise<Readonly<{ stream: Stream; pepper: string }>>
  /** The telemetry logs, for reading and for decisions, in order of the partitions. */
  openLogs(dataFolder: string): Promise<readonly Stream[]>
  /** Their indexes, for reading, in the same order; none where there are none yet. */
  openIndexes(dataFolder: string): Promise<readonly IndexProgress[]>
  /** Damaged logs of the data folder that were set aside and still lie there; none in a cluster. */
  quarantines(dataFolder: string): readonly Quarantined[]
  /** Their builds, to be rebuilt, compared, listed and dropped, in the same order. */
  openBuilds(dataFolder: string): Promise<readonly OpenBuilds[]>
  /** Copies what cannot be made anew of a data folder into a new folder. Throws PermanentError in a cluster. */
  backUp(dataFolder: string, folder: string): Promise<BackedUp>
  /** Both sides of a move from the embedded form to a cluster's log. Throws PermanentError while a server runs on the folder. */
  openMove(request: MoveRequest): Promise<OpenMove>
  /** Ends what the engines are reached by, after all that was opened. */
  close(): Promise<void>
  /** Names of the projections, in the order in which `status` shows them. */
  projections: readonly string[]
}>

/** Up to where the copies of both logs go. */
export type BackedUp = Readonly<{ log: Position; directory: Position }>

export type OpenBuilds = BuildContext & Readonly<{ close(): Promise<void> }>

/** `natsUrl`: where to; without it what the environment names. `verifyOnly`: nothing is made there. */
export type MoveRequest = Readonly<{ dataFolder: string; natsUrl: string | undefined; verifyOnly: boolean }>
/** A data folder, held against servers, and the log of a cluster. `secrets`: what the cluster is to be given. */
export type OpenMove = Readonly<{
  secrets: Secrets
  telemetry: CopiedLog
  directory: CopiedLog
  close(): Promise<void>
}>

/** A mistake in how the command was written: told with the usage, exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/**
 * What a verb has done: as JSON, and as text for people. The exit code is 0 where it says no other. `unseen`: what is to be
 * said where the answer, which alone has a secret, cannot be written.
 */
type Done = Readonly<{ json: Readonly<Record<string, unknown>>; text: string; exitCode?: number; unseen?: string }>
export type Outcome = Result<Done, Refused>

export type Given = Readonly<{
  /** Positional arguments after the verb, as many as it asks for. */
  names: readonly string[]
  options: Readonly<Record<string, string | boolean | readonly (string | boolean)[] | undefined>>
}>

export type VerbContext = Given &
  Readonly<{
    io: CliIo
    services: CliServices
    dataFolder: string
    clock: Clock
    random: RandomBytes
    /** The directory, at its head. Opened when asked for, closed at the end. */
    directory: () => Promise<Directory>
  }>

/** Its name is in verbs.ts. */
export type Verb = Readonly<{
  /** Positional arguments, as the usage shows them: `NAME`; none if not given. */
  names?: readonly string[]
  /** Options as the usage shows them. */
  usage?: string
  about: string
  options?: ParseArgsOptionsConfig
  /** The exit code of a failure, where it is not 1. */
  failureCode?: number
  run: (context: VerbContext) => Promise<Outcome>
}>

/** The text of an option that must be given. */
export function required({ options }: Given, name: string): string {
  const value = options[name]
  if (typeof value !== 'string' || value === '') throw new UsageError(`--${name} is missing`)
  return value
}

export function optional({ options }: Given, name: string): string | undefined {
  const value = options[name]
  return typeof value === 'string' ? value : undefined
}

/** All values of an option that may be given several times. */
export function all({ options }: Given, name: string): readonly string[] {
  const value = options[name]
  return Array.isArray(value) ? value.map(String) : []
}

/** `1 workspace`, `12,345 workspaces`. */
export const counted = (count: number, one: string, many = `${one}s`): string =>
  `${count.toLocaleString('en')} ${count === 1 ? one : many}`

export const isoTime = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString())

export const unknownWorkspace = (name: string) =>
  fail<Refused>({ code: 'unknown', field: 'workspace', detail: `There is no workspace ${JSON.stringify(name)}.` })

export const unknownUser = (email: string) =>
  fail<Refused>({ code: 'unknown', field: 'email', detail: `There is no user ${JSON.stringify(email)}.` })

export const unknownKey = (id: string) =>
  fail<Refused>({
    code: 'unknown',
    field: 'id',
    detail: `There is no key ${JSON.stringify(id)}; "throughline key list" shows the ids.`,
  })

/** Of a key that was made and whose secret nobody has been shown. */
export const unseenSecret = ({ id }: Key): string =>
  `the key ${id} is made and its secret lost: throughline key revoke ${id}, and make another`

/** The same of a password. */
export const unseenPassword = ({ email }: User): string =>
  `the new password is lost: throughline user password ${shellWord(email)} makes another`

export const workspaceJson = ({ id, name, plan, createdAt }: Workspace) => ({
  id,
  name,
  plan: plan.name,
  created_at: isoTime(createdAt),
})

/** A key as everybody may see it. */
export const keyJson = (key: Key) => ({
  id: key.id,
  workspace: key.workspaceId,
  kind: key.kind,
  name: key.name,
  scopes: key.scopes,
  prefix: key.prefix,
  last4: key.last4,
  origins: key.origins,
  created_at: isoTime(key.createdAt),
  revoked_at: isoTime(key.revokedAt),
  works_until: isoTime(key.worksUntil),
  exposed: key.exposed,
})

/** Rows in columns, two blanks apart. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}
