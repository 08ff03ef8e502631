import type { BuildContext } from '#projections/builds/build-place.ts'
import type { IndexReader } from '#projections/index-store.ts'
import type { Limits } from '#src/config.ts'
import type { Plans } from '#src/directory/plans.ts'
import type { Secrets } from '#src/directory/secrets.ts'
import type { Position } from '#src/events/envelope.ts'
import type { CopiedLog } from '#streams/copy-log.ts'
import type { Quarantined } from '#streams/sqlite/mending/quarantine.ts'
import type { Stream } from '#streams/stream.ts'

/** An index of one partition, as far as "throughline status" reads it. */
export type IndexProgress = Pick<IndexReader, 'progress' | 'close'>

/** A folder whose disk is full. `not`: what is not done with telemetry because of that. `lacks`: what the disk has none of, if not bytes. */
export type FullDisk = Readonly<{ folder: string; not: string; lacks?: 'inodes' }>

/** What verbs need of a data folder, or of a cluster; made by compose/cli.ts. The command line closes everything that it opens here. */
export type CliServices = Readonly<{
  plans: Plans
  limits: Limits
  /** The directory's log, for appending beside running servers, and the pepper of its keys. */
  openDirectory(dataFolder: string): Promise<Readonly<{ stream: Stream; pepper: string }>>
  /** The telemetry logs, for reading and for decisions, in order of the partitions. */
  openLogs(dataFolder: string): Promise<readonly Stream[]>
  /** Their indexes, for reading, in the same order; none where there are none yet. */
  openIndexes(dataFolder: string): Promise<readonly IndexProgress[]>
  /** Damaged logs of the data folder that were set aside and still lie there; none in a cluster. */
  quarantines(dataFolder: string): readonly Quarantined[]
  /** Its folders whose disks are full, so that telemetry is not accepted or not folded; none in a cluster. */
  fullDisks(dataFolder: string): readonly FullDisk[]
  /** Their builds, to be rebuilt, compared, listed and dropped, in the same order. */
  openBuilds(dataFolder: string): Promise<readonly OpenBuilds[]>
  /** Copies what cannot be made anew of a data folder into a new folder. Throws PermanentError in a cluster. */
  backUp(dataFolder: string, folder: string): Promise<BackedUp>
  /** Both sides of a move from the embedded form to a cluster's log. Throws PermanentError while a server runs on the folder. */
  openMove(request: MoveRequest): Promise<OpenMove>
  /** Closes the connections to the engines, after everything that was opened. */
  close(): Promise<void>
  /** Names of the projections, in the order in which `status` shows them. */
  projections: readonly string[]
}>

/** Up to where the copies of both logs go. */
export type BackedUp = Readonly<{ log: Position; directory: Position }>

export type OpenBuilds = BuildContext & Readonly<{ close(): Promise<void> }>

/** `natsUrl`: the target; undefined: the one that the environment names. `verifyOnly`: nothing is created there. */
export type MoveRequest = Readonly<{ dataFolder: string; natsUrl: string | undefined; verifyOnly: boolean }>
/** A data folder, locked against servers, and the log of a cluster. `secrets`: what the cluster needs. */
export type OpenMove = Readonly<{
  secrets: Secrets
  telemetry: CopiedLog
  directory: CopiedLog
  close(): Promise<void>
}>
