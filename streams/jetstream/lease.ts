import { setTimeout as pause } from 'node:timers/promises'
import type { LeaseBoard } from './lease-board.ts'

/** A lease that is not renewed for this long is free for others. */
export const leaseTtlMs = 5_000
/** Of that time: when a lease is renewed, and how long before its end its holder stops, however slow the answers are. */
export const renewAfter = 0.3
export const stopBefore = 0.2
/** How many leases are asked for at once: one after the other, many partitions would not be renewed in time. */
const atOnce = 32

type LeaseOptions = Readonly<{
  board: LeaseBoard
  /** Of this process, unlike any other: at most 64 letters, digits and `-`. */
  id: string
  partitions: number
  /** As the board has it. */
  ttlMs: number
  /**
   * Works on a partition until the signal aborts, then ends as soon as it can; the lease is given back after it. When it ends
   * by itself, or rejects, the partition is free for all.
   */
  run: (partition: number, signal: AbortSignal) => Promise<void>
  /** Hears why `run` rejected, and why the board cannot be reached. */
  onFailure: (error: unknown) => void
  /** Milliseconds of a clock that never goes back. */
  now?: () => number
}>

/** How many of the partitions are this process's: as even as it goes, the first in text order have one more. */
export function shareOf(id: string, members: readonly string[], partitions: number): number {
  const all = [...new Set([...members, id])].sort()
  return Math.floor(partitions / all.length) + (all.indexOf(id) < partitions % all.length ? 1 : 0)
}

/** Does something with each, some at once, and ends when nothing is under way any more: then it rejects as the first that did. */
async function forEach<Item>(items: readonly Item[], task: (item: Item) => Promise<void>): Promise<void> {
  for (let from = 0; from < items.length; from += atOnce) {
    const ended = await Promise.allSettled(items.slice(from, from + atOnce).map(task))
    const failed = ended.find((each) => each.status === 'rejected')
    if (failed !== undefined) throw failed.reason
  }
}

/** A partition that this process works on. */
type Held = {
  revision: number
  /** When it was last asked for: it holds for a lease's life from then at least. */
  renewedAt: number
  readonly ending: AbortController
  /** Resolves when the work has ended and the lease is given back. */
  finished: Promise<void>
}

function createHolder(options: LeaseOptions) {
  const { board, id, partitions, ttlMs, run, onFailure, now = () => performance.now() } = options
  const held = new Map<number, Held>()
  const staying = (): readonly Held[] => [...held.values()].filter(({ ending }) => !ending.signal.aborted)

  const work = async (partition: number, lease: Held): Promise<void> => {
    try {
      await run(partition, lease.ending.signal)
    } catch (error) {
      onFailure(error)
    }
    if (held.get(partition) !== lease) return
    // No longer renewed from here on: should this fail, it expires.
    held.delete(partition)
    await board.giveBack(partition, lease.revision).catch(onFailure)
  }
  const begin = (partition: number, revision: number, renewedAt: number): void => {
    const lease: Held = { revision, renewedAt, ending: new AbortController(), finished: Promise.resolve() }
    held.set(partition, lease)
    lease.finished = work(partition, lease)
  }
  const lose = (partition: number, lease: Held): void => {
    if (held.get(partition) === lease) held.delete(partition)
    lease.ending.abort()
  }
  const renew = async (partition: number, lease: Held): Promise<void> => {
    // It may have been given back, or dropped, while others were renewed.
    if (held.get(partition) !== lease) return
    const askedAt = now()
    const revision = await board.renew(partition, id, lease.revision)
    if (revision === undefined) return lose(partition, lease)
    lease.revision = revision
    lease.renewedAt = askedAt
  }
  const take = async (partition: number): Promise<void> => {
    const askedAt = now()
    const revision = await board.take(partition, id)
    if (revision !== undefined) begin(partition, revision, askedAt)
  }

  /** Says that it is there, and renews what it holds; since when that is so. */
  const refresh = async (): Promise<number> => {
    const askedAt = now()
    await board.attend(id)
    await forEach([...held], ([partition, lease]) => renew(partition, lease))
    return askedAt
  }

  return {
    /** Says that it is there, renews what it holds, and comes nearer to its share. */
    turn: async (): Promise<void> => {
      let refreshedAt = await refresh()
      const share = shareOf(id, await board.members(), partitions)
      for (const { ending } of staying().slice(share)) ending.abort()
      const free = Array.from({ length: partitions }, (_, index) => index).filter((partition) => !held.has(partition))
      while (free.length > 0 && staying().length < share) {
        // There may be many to take over, and what is held must not expire meanwhile.
        if (now() - refreshedAt > ttlMs * renewAfter) refreshedAt = await refresh()
        await forEach(free.splice(0, Math.min(atOnce, share - staying().length)), take)
      }
    },
    /** Stops the work on what others may take from now on. */
    dropExpired: (): void => {
      const until = now() - ttlMs * (1 - stopBefore)
      for (const [partition, lease] of held) if (lease.renewedAt < until) lose(partition, lease)
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
 * Shares the partitions among the processes that are there: each is worked on by one of them at a time, and those of a process
 * that is lost are taken over when their leases expire. For a moment two may work on one, both sure of their lease (one of them
 * was paused): what they write must bear that. Resolves when the signal has aborted and everything is given back.
 */
export async function holdPartitions(options: LeaseOptions, signal: AbortSignal): Promise<void> {
  const { ttlMs, onFailure } = options
  const holder = createHolder(options)
  // Beside the turns: one of them may wait for an answer that does not come.
  const watch = setInterval(holder.dropExpired, ttlMs / 10)
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
    await pause(ttlMs * renewAfter, undefined, { signal }).catch(() => undefined)
  }
  clearInterval(watch)
  await holder.end()
}
