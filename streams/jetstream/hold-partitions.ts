import { setTimeout as pause } from 'node:timers/promises'
import { renewAfter, stopBefore, type LeaseBoard } from './lease-board.ts'

/** Leases asked for at once: one by one, many partitions would not be renewed in time. */
const atOnce = 32

type HoldOptions = Readonly<{
  board: LeaseBoard
  /** Unique to this process: at most 64 letters, digits and `-`. */
  id: string
  partitions: number
  /**
   * Works on a partition until the signal aborts, then ends as soon as it can; the lease is then given back. If it ends by itself, or rejects,
   * any process may take the partition.
   */
  run: (partition: number, signal: AbortSignal) => Promise<void>
  /** Called with what `run` rejects with, and when the board cannot be reached. */
  onFailure: (error: unknown) => void
  /** Milliseconds of a clock that never goes back. */
  now?: () => number
}>

/** The number of partitions for this process: evenly distributed; the first processes in text order get one more. */
export function shareOf(id: string, members: readonly string[], partitions: number): number {
  const all = [...new Set([...members, id])].sort()
  return Math.floor(partitions / all.length) + (all.indexOf(id) < partitions % all.length ? 1 : 0)
}

/** Runs the task for each item, `atOnce` in parallel. If some reject, stops after those under way, and rejects with the first. */
async function forEach<Item>(items: readonly Item[], task: (item: Item) => Promise<void>): Promise<void> {
  for (let from = 0; from < items.length; from += atOnce) {
    const ended = await Promise.allSettled(items.slice(from, from + atOnce).map(task))
    const failed = ended.find((each) => each.status === 'rejected')
    if (failed !== undefined) throw failed.reason
  }
}

/** A partition that this process works on. One that is lost is not taken again before the work on it has ended. */
type Held = {
  revision: number
  isLost: boolean
  /** When the renewal was requested: the lease is valid for its time to live from then on, at least. */
  renewedAt: number
  /** The renewal under way; never rejects. */
  renewing?: Promise<unknown>
  readonly ending: AbortController
  /** Resolves when the work has ended and the lease is given back. */
  finished: Promise<void>
}

function lose(lease: Held): void {
  lease.isLost = true
  lease.ending.abort()
}

function createHolder(options: HoldOptions) {
  const { board, id, partitions, run, onFailure, now = () => performance.now() } = options
  const { ttlMs } = board
  const held = new Map<number, Held>()
  const staying = (): readonly Held[] => [...held.values()].filter(({ ending }) => !ending.signal.aborted)

  const work = async (partition: number, lease: Held): Promise<void> => {
    try {
      await run(partition, lease.ending.signal)
    } catch (error) {
      onFailure(error)
    }
    held.delete(partition)
    await lease.renewing
    // It is no longer renewed, so if this fails it expires.
    if (!lease.isLost) await board.giveBack(partition, lease.revision).catch(onFailure)
  }
  const begin = (partition: number, revision: number, renewedAt: number): void => {
    const ending = new AbortController()
    const lease: Held = { revision, isLost: false, renewedAt, ending, finished: Promise.resolve() }
    held.set(partition, lease)
    lease.finished = work(partition, lease)
  }
  const renewed = async (partition: number, lease: Held): Promise<void> => {
    const askedAt = now()
    const revision = await board.renew(partition, id, lease.revision)
    if (revision === undefined) return lose(lease)
    lease.revision = revision
    lease.renewedAt = askedAt
  }
  const renew = async (partition: number, lease: Held): Promise<void> => {
    // It may have been given back or lost while others were renewed.
    if (held.get(partition) !== lease || lease.isLost) return
    const renewing = renewed(partition, lease)
    lease.renewing = renewing.catch(() => undefined)
    await renewing
  }
  const take = async (partition: number): Promise<void> => {
    const askedAt = now()
    const revision = await board.take(partition, id)
    if (revision !== undefined) begin(partition, revision, askedAt)
  }

  /** Announces the process and renews its leases. Returns when it began. */
  const refresh = async (): Promise<number> => {
    const askedAt = now()
    await board.attend(id)
    await forEach([...held], ([partition, lease]) => renew(partition, lease))
    return askedAt
  }

  return {
    /** Announces the process, renews its leases, and takes or gives back leases toward its share. */
    turn: async (): Promise<void> => {
      let refreshedAt = await refresh()
      const share = shareOf(id, await board.members(), partitions)
      for (const { ending } of staying().slice(share)) ending.abort()
      const free = Array.from({ length: partitions }, (_, index) => index).filter((partition) => !held.has(partition))
      while (free.length > 0 && staying().length < share) {
        // Taking many leases takes time, and those held must not expire meanwhile.
        if (now() - refreshedAt > ttlMs * renewAfter) refreshedAt = await refresh()
        await forEach(free.splice(0, Math.min(atOnce, share - staying().length)), take)
      }
    },
    /** Stops the work on partitions whose leases are about to expire. */
    dropExpired: (): void => {
      const until = now() - ttlMs * (1 - stopBefore)
      for (const lease of held.values()) if (lease.renewedAt < until) lose(lease)
    },
    end: async (): Promise<void> => {
      const all = [...held.values()]
      for (const { ending } of all) ending.abort()
      await Promise.all(all.map(({ finished }) => finished))
      await board.leave(id).catch(onFailure)
    },
  }
}

/**
 * Shares the partitions among the processes: one process at a time works on each, and those of a lost process are taken over when their leases
 * expire. If a process was paused, two may work on the same partition for a moment, so their writes must tolerate that. Resolves when the
 * signal has aborted and everything is given back.
 */
export async function holdPartitions(options: HoldOptions, signal: AbortSignal): Promise<void> {
  const { board, onFailure } = options
  const holder = createHolder(options)
  // Independent of the turns, one of which may be waiting for an answer that never comes.
  const watch = setInterval(holder.dropExpired, board.ttlMs / 10)
  let isFailing = false
  while (!signal.aborted) {
    try {
      await holder.turn()
      isFailing = false
    } catch (error) {
      if (!isFailing) onFailure(error)
      isFailing = true
    }
    // Rejects when the signal aborts.
    await pause(board.ttlMs * renewAfter, undefined, { signal }).catch(() => undefined)
  }
  clearInterval(watch)
  await holder.end()
}
