import { createFairLine } from './fair-line.ts'

/** One that is inside. The size that it takes may change until it leaves. */
export type Stay = Readonly<{ takes(size: number): void; leave(): void }>

/** Why one was not let in: its owner has all that one owner may have, or all owners together take all there is. */
export type Full = 'owner' | 'all'

export type FairGate = Readonly<{
  /** Lets in as soon as there is room. Rejects with the signal's reason when that is aborted while it waits. */
  enter(owner: string, size: number, signal?: AbortSignal): Promise<Stay | Full>
}>

export type FairGateOptions = Readonly<{
  /** How many of one owner may be inside. */
  perOwnerMax: number
  /** What all may take together; one owner at most half of it. */
  sizeMax: number
  /** How many of one owner may wait, and for how long. */
  waitingPerOwnerMax: number
  waitMs: number
}>

type Held = Readonly<{ count: number; size: number }>
type Waiting = Readonly<{ size: number; settle(result: Stay | Full): void }>

const nothing: Held = { count: 0, size: 0 }

/** What is inside, by owner. */
function createRoom({ perOwnerMax, sizeMax }: Pick<FairGateOptions, 'perOwnerMax' | 'sizeMax'>) {
  const inside = new Map<string, Held>()
  let taken = 0
  const heldBy = (owner: string): Held => inside.get(owner) ?? nothing
  return {
    heldBy,
    whyNot(this: void, owner: string, size: number): Full | undefined {
      const held = heldBy(owner)
      if (held.count >= perOwnerMax || (held.count > 0 && held.size + size > sizeMax / 2)) return 'owner'
      return taken > 0 && taken + size > sizeMax ? 'all' : undefined
    },
    add(this: void, owner: string, count: number, size: number): void {
      const held = heldBy(owner)
      taken += size
      inside.set(owner, { count: held.count + count, size: held.size + size })
      if (held.count + count === 0) inside.delete(owner)
    },
  }
}

/**
 * Bounds the total size inside. What does not fit waits for its turn, for a bounded time. Next is the owner who takes least; among equals, the one
 * who has waited longest. One owner's requests enter in order. One that is larger than the bound enters alone.
 */
export function createFairGate({ waitingPerOwnerMax, waitMs, ...bounds }: FairGateOptions): FairGate {
  const { heldBy, whyNot, add } = createRoom(bounds)
  const waiting = createFairLine<Waiting>((owner) => heldBy(owner).size)

  const stayOf = (owner: string, size: number): Stay => {
    let takes = size
    let isInside = true
    add(owner, 1, size)
    const change = (count: 0 | -1, next: number): void => {
      if (!isInside) return
      isInside = count === 0
      add(owner, count, next - takes)
      takes = next
      letIn()
    }
    return { takes: (next) => change(0, next), leave: () => change(-1, 0) }
  }
  const letIn = (): void => {
    for (;;) {
      const next = waiting.next((owner, { size }) => whyNot(owner, size) !== 'owner')
      if (next === undefined || whyNot(next.owner, next.one.size) !== undefined) return
      next.one.settle(stayOf(next.owner, next.one.size))
    }
  }
  /** Resolves when the one has been let in, or has waited for too long. */
  const wait = (owner: string, size: number, signal: AbortSignal | undefined): Promise<Stay | Full> =>
    new Promise((resolve, reject) => {
      const done = (): void => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', abort)
        waiting.remove(owner, one)
      }
      const settle = (result: Stay | Full): void => {
        done()
        resolve(result)
      }
      const abort = (): void => {
        done()
        reject(signal?.reason)
      }
      const one: Waiting = { size, settle }
      const timer = setTimeout(() => settle(whyNot(owner, size) ?? 'all'), waitMs)
      signal?.addEventListener('abort', abort)
      waiting.add(owner, one)
      letIn()
    })

  return {
    async enter(owner, size, signal) {
      signal?.throwIfAborted()
      // Those of the same owner who wait go first. Those of other owners do not fit now, or are next anyway.
      const { length: before } = waiting.of(owner)
      const full = before === 0 ? whyNot(owner, size) : 'owner'
      if (full !== undefined && before >= waitingPerOwnerMax) return whyNot(owner, size) ?? full
      return full === undefined ? stayOf(owner, size) : wait(owner, size, signal)
    },
  }
}
