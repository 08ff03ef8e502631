/** What owners wait for. */
type FairLine<One> = Readonly<{
  of(owner: string): readonly One[]
  add(owner: string, one: One): void
  /** Whose first one has gone waits behind the others again. */
  remove(owner: string, one: One): void
  /** What comes next, of those that may. */
  next(mayCome: (owner: string, first: One) => boolean): Readonly<{ owner: string; one: One }> | undefined
  /** Nobody waits any more; who did. */
  clear(): readonly One[]
}>

/** Next is the owner who holds least, of these who has waited longest; what one owner waits for comes in its order. */
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
