import { positionStep, type Position } from '#src/events/envelope.ts'

/** A worker gives way when it is ahead of the last one by this part of all events: the last one is waited for. */
const partAhead = 1 / 32

/**
 * For workers that fold the same log side by side: the returned function takes a position that a worker has reached, and is true once when that
 * worker is ahead of the last one. `events`: about how many there are.
 */
export function createRace(workers: number, events: number): (share: number, position: Position) => boolean {
  const reached = new Map<number, Position>()
  const told = new Set<number>()
  return (share, position) => {
    reached.set(share, position)
    // A worker that goes on after an interruption does not begin at the start: where it is, is known when it reports.
    if (reached.size < workers || told.has(share)) return false
    const isAhead = position - Math.min(...reached.values()) > events * partAhead * positionStep
    if (isAhead) told.add(share)
    return isAhead
  }
}
