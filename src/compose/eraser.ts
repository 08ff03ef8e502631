import { eraseWorkspace } from '#projections/retention/erase-workspace.ts'
import { projections } from '#projections/registry.ts'
import type { Directory } from '#src/directory/create-directory.ts'
import { partitionNumber } from '#src/events/partition.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import type { Clock } from '#src/lib/clock.ts'
import { inTime } from '#src/lib/in-time.ts'
import { randomId } from '#src/lib/random-id.ts'
import { systemTimers, type Timers } from '#src/lib/timers.ts'
import type { Stream } from '#streams/stream.ts'
import { withBeside, type ProjectorThread } from './threads/projector.ts'
import { createRetryReport } from './troubles.ts'

/** Which workspaces are erased, and from which logs. */
export type ErasingOptions = Readonly<{
  directory: Pick<Directory, 'erasedWorkspaces'>
  partitions: number
  openLog: (partition: string) => Promise<Stream>
  clock: Clock
}>

type EraserOptions = ErasingOptions &
  Readonly<{
    /** The partitions that this process folds now. */
    folded: () => readonly string[]
    timers?: Timers
    onFailure?: (error: unknown) => void
  }>

/** How often an erased workspace is looked for again, since more may have come: after as long as it has been clean, within these bounds. */
const lookEveryMs = 60_000
const lookEveryMsMax = 3_600_000
/** How soon it is tried again after a failure, or while more keeps coming. */
const retryMs = 5_000
const tickMs = 500
/** How long a process that is to end waits for an erasure. That of a long log takes minutes; it may be broken off anywhere. */
const endPatienceMs = 1_000

/** Since when nothing was found of a workspace, and when it is looked for again. */
type Clean = Readonly<{ sinceMs: number; dueAt: number }>

/** Erases what the directory says is erased from the logs that this process folds. A log stays open once it was needed. */
function createSweep({ directory, folded, partitions, openLog, clock }: EraserOptions, hasStopped: () => boolean) {
  const logs = new Map<string, Promise<Stream>>()
  const logOf = async (partition: string): Promise<Stream> => {
    const opened = logs.get(partition) ?? openLog(partition)
    logs.set(partition, opened)
    try {
      return await opened
    } catch (error) {
      logs.delete(partition)
      throw error
    }
  }
  const clean = new Map<WorkspaceId, Clean>()
  /** Whether nothing is left of it. */
  async function erase(id: WorkspaceId, partition: string): Promise<boolean> {
    const before = clean.get(id)
    if (before !== undefined && clock() < before.dueAt) return true
    clean.delete(id)
    const stream = await logOf(partition)
    const sinceMs = (await stream.isLeft(id)) ? undefined : before?.sinceMs
    if (!(await eraseWorkspace({ stream, projections, clock, newId: randomId }, id))) return false
    const now = clock()
    const cleanMs = now - (sinceMs ?? now)
    clean.set(id, { sinceMs: now - cleanMs, dueAt: now + Math.min(Math.max(cleanMs, lookEveryMs), lookEveryMsMax) })
    return true
  }
  return {
    /** False when more is to be done soon. */
    async run(): Promise<boolean> {
      const mine = new Set(folded())
      let isClean = true
      for (const { id } of directory.erasedWorkspaces()) {
        if (hasStopped()) return false
        const partition = String(partitionNumber(id, partitions))
        if (mine.has(partition)) isClean = (await erase(id, partition)) && isClean
        else clean.delete(id)
      }
      return isClean
    },
    async close(): Promise<void> {
      for (const log of logs.values()) await (await log.catch(() => undefined))?.close()
      logs.clear()
    },
  }
}

/**
 * Erases from the logs what the directory says is erased: at the start, when the directory or this process's share of the partitions changes, and
 * from time to time, because a process that did not know of the erasure yet may have appended more. So an erasure whose command was killed is
 * finished.
 */
export function createEraser(options: EraserOptions): Readonly<{ start(): void; stop(): Promise<void> }> {
  const { directory, folded, clock, timers = systemTimers } = options
  const { onFailure = createRetryReport(clock, 'a workspace could not be erased; trying again') } = options
  let running: Promise<void> | undefined
  let stopTicking: (() => void) | undefined
  let hasStopped = false
  const sweep = createSweep(options, () => hasStopped)
  /** What was erased, and which partitions were this process's, at the last attempt. */
  let tried = ''
  let dueAt = 0

  const run = async (): Promise<void> => {
    let isClean = false
    try {
      isClean = await sweep.run()
    } catch (error) {
      if (!hasStopped) onFailure(error)
    }
    dueAt = clock() + (isClean ? lookEveryMs : retryMs)
  }
  const tick = (): void => {
    const what = `${directory.erasedWorkspaces().length} ${folded().join()}`
    if (running !== undefined || (what === tried && clock() < dueAt)) return
    tried = what
    running = run().finally(() => {
      running = undefined
    })
  }
  return {
    start: () => {
      hasStopped = false
      stopTicking ??= timers.every(tickMs, tick)
    },
    stop: async () => {
      stopTicking?.()
      stopTicking = undefined
      if (running !== undefined) await inTime(running, endPatienceMs)
      // Started again meanwhile, as by a worker whose replacement was given up.
      if (stopTicking !== undefined) return
      hasStopped = true
      await sweep.close()
    },
  }
}

/** A projector with an eraser beside it, for the partitions that it folds. */
export const withEraser = (projector: ProjectorThread, options: ErasingOptions): ProjectorThread =>
  withBeside(projector, createEraser({ ...options, folded: projector.folded }))

/** A log that somebody else closes. */
export const lent = (stream: Stream): Stream => ({ ...stream, close: async () => undefined })
