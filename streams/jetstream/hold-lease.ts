import type { LeaseBoard } from './lease-board.ts'
import { renewAfter, stopBefore } from './lease.ts'

type HeldLease = Readonly<{ release(): Promise<void> }>

type HoldLeaseOptions = Readonly<{
  board: LeaseBoard
  /** What is held: letters, digits and `-`. */
  name: string
  /** Of this process, unlike any other. */
  id: string
  /** As the board has it. */
  ttlMs: number
  /** Hears, once, that others may hold it from now on. */
  onLost: () => void
}>

/**
 * Holds something for this process until it is released; undefined when another holds it. It expires with the process: so it is
 * renewed as long as that lives, and lost when it could not be for too long.
 */
export async function holdLease({ board, name, id, ttlMs, onLost }: HoldLeaseOptions): Promise<HeldLease | undefined> {
  let renewedAt = performance.now()
  let revision = await board.take(name, id)
  if (revision === undefined) return undefined
  let isOver = false
  let asking: Promise<void> | undefined
  const renew = async (known: number): Promise<void> => {
    const askedAt = performance.now()
    revision = await board.renew(name, id, known)
    renewedAt = askedAt
  }
  const turn = (): void => {
    const isLate = performance.now() - renewedAt > ttlMs * (1 - stopBefore)
    if (isLate || revision === undefined) {
      clearInterval(timer)
      if (!isOver) onLost()
      isOver = true
      return
    }
    // What fails is tried again, until it is too late.
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
