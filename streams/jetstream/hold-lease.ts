import { renewAfter, stopBefore, type LeaseBoard } from './lease-board.ts'

type HeldLease = Readonly<{ release(): Promise<void> }>

type HoldLeaseOptions = Readonly<{
  board: LeaseBoard
  /** The name of the lease: letters, digits and `-`. */
  name: string
  /** Unique to this process. */
  id: string
  /** Called once, when others may hold the lease from now on. */
  onLost: () => void
  /** Milliseconds of a clock that never goes back. */
  now?: () => number
}>

/**
 * Holds a lease for this process until it is released; undefined if another process holds it. It is renewed as long as the process lives, and
 * lost if it could not be renewed for too long.
 */
export async function holdLease({
  board,
  name,
  id,
  onLost,
  now = () => performance.now(),
}: HoldLeaseOptions): Promise<HeldLease | undefined> {
  const { ttlMs } = board
  let renewedAt = now()
  let revision = await board.take(name, id)
  if (revision === undefined) return undefined
  let isOver = false
  let asking: Promise<void> | undefined
  const renew = async (known: number): Promise<void> => {
    const askedAt = now()
    revision = await board.renew(name, id, known)
    renewedAt = askedAt
  }
  const turn = (): void => {
    const isLate = now() - renewedAt > ttlMs * (1 - stopBefore)
    if (isLate || revision === undefined) {
      clearInterval(timer)
      if (!isOver) onLost()
      isOver = true
      return
    }
    // A failed renewal is tried again until it is too late.
    asking ??= renew(revision)
      .catch(() => undefined)
      .finally(() => (asking = undefined))
  }
  const timer = setInterval(turn, ttlMs * renewAfter)
  return {
    async release() {
      isOver = true
      clearInterval(timer)
      await asking
      if (revision !== undefined) await board.giveBack(name, revision)
    },
  }
}
