/** A queue of items, each of an owner. */
type FairLine<One> = Readonly<{
  of(owner: string): readonly One[]
  add(owner: string, one: One): void
  /** If it was the owner's first item, the owner queues behind the others again. */
  remove(owner: string, one: One): void
  /** The next item, among those that may go. */
  next(mayCome: (owner: string, first: One) => boolean): Readonly<{ owner: string; one: One }> | undefined
  /** Empties the queue and returns what waited. */
  clear(): readonly One[]
}>

/** Next is the owner that holds the least; among equals the one that has waited longest. One owner's items keep their order. */
export function createFairLine<One>(heldBy: (owner: string) => number): FairLine<One> {
  const waiting = new Map<string, readonly One[]>()
  const of = (owner: string): readonly One[] => waiting.get(owner) ?? []
  return {
    of,
    add: (owner, one) => void waiting.set(owner, [...of(owner), one]),
    remove(owner, one) {
      const others = of(owner).filter((each) => each !== one)
      if (of(owner)[0] === one || others.length === 0) waiting.delete(owner)
      if (others.length > 0) waiting.set(owner, others)
    },
    next(mayCome) {
      let next: Readonly<{ owner: string; one: One }> | undefined
      for (const [owner, [one]] of waiting) {
        if (one === undefined || !mayCome(owner, one)) continue
        if (next === undefined || heldBy(owner) < heldBy(next.owner)) next = { owner, one }
      }
      return next
    },
    clear() {
      const all = [...waiting.values()].flat()
      waiting.clear()
      return all
    },
  }
}
