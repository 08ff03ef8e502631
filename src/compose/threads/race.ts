import { positionStep, type Position } from '#src/events/envelope.ts'

/** A worker gives way once this part of all events lies between it and the last one: that one is waited for. */
const partAhead = 1 / 32

/**
 * Of workers that fold the same log side by side: says of one that has reached a position, once, that it is ahead of the last one. `events`:
 * about how many there are.
 */
export function createRace(workers: number, events: number): (share: number, position: Position) => boolean {
  const reached = new Map<number, Position>()
  const told = new Set<number>()
  return (share, position) => {
    reached.set(share, position)
    // Where one goes on that was interrupted is not known before it says so.
    if (reached.size < workers || told.has(share)) return false
    const isAhead = position - Math.min(...reached.values()) > events * partAhead * positionStep
    if (isAhead) told.add(share)
    return isAhead
  }
}
