import { randomBytes } from 'node:crypto'
import type { IndexReader } from '#projections/index-store.ts'
import { limits, plans } from '#src/config.ts'
import { createDirectory, type Directory } from '#src/directory/create-directory.ts'
import { createPasswords } from '#src/directory/passwords.ts'
import type { Secrets } from '#src/directory/secrets.ts'
import type { PartitionOf } from '#src/events/partition.ts'
import type { ReservedAllowance } from '#src/ingest/reserved-allowance.ts'
import type { Clock } from '#src/lib/clock.ts'
import type { QuarantinedLogs } from '#src/operations/quarantine.ts'
import type { Stream } from '#streams/stream.ts'
import type { ProjectorThread } from './threads/projector.ts'
import type { Sampler } from './threads/sampler.ts'
import { createRetryReport } from './troubles.ts'

/** The engines behind a server, whichever they are. Lists are in order of the partitions. */
export type Engines = Readonly<{
  clock: Clock
  secrets: Secrets
  directory: Directory
  streams: readonly Stream[]
  /** For the server's own queries, which do not queue behind those of requests. */
  readers: readonly IndexReader[]
  /** For one request of a workspace: only what that workspace may see. */
  readerOf: PartitionOf<IndexReader>
  projector: ProjectorThread
  /** Compares a part of the indexes with the log from time to time, while the projector runs; none if nothing is folded. */
  sampler: Sampler | undefined
  allowances: readonly ReservedAllowance[]
  /** Logs in files, and their folder; none in a cluster. `checkRoom` throws TransientError while their disk is full. */
  files: (QuarantinedLogs & Readonly<{ folder: string; checkRoom(): void }>) | undefined
  /** Takes back, over time, what dead processes left of the span allowance. */
  sweep(): void
  /** Does what the first start of an installation does, if this is it, and tells the operator. */
  greet(baseUrl: string): Promise<void>
  close(): Promise<void>
}>

/**
 * Returns what ends the process: it cannot continue, because its answers would be wrong from now on. With `answersMs`, it ends that much later, so
 * that those who wait are answered first. The next start recovers from the log.
 */
export function giveUp(what: string, answersMs = 0) {
  return (error: Error): void => {
    console.error(`${what}: ${error.message}; the server ends`)
    if (answersMs === 0) process.exit(1)
    setTimeout(() => process.exit(1), answersMs)
  }
}

/** The directory of a server. The server ends when the directory can no longer be followed. */
export const openDirectory = (stream: Stream, clock: Clock, pepper: string): Promise<Directory> =>
  createDirectory({
    stream,
    clock,
    random: randomBytes,
    pepper,
    plans,
    limits,
    passwords: createPasswords({ random: randomBytes }),
    onStop: giveUp('the directory can no longer be followed'),
    onRetry: createRetryReport(clock, 'the directory cannot be followed; trying again'),
  })
