import type { Position } from '#src/events/envelope.ts'
import type { Clock } from '#src/lib/clock.ts'
import type { Lane } from './lane.ts'

/** When a projection was opened or failed last, and where the lanes were. */
type Awaited = Readonly<{ at: number; positions: ReadonlyMap<Lane, Position> }>

type RecoveriesOptions = Readonly<{ clock: Clock; onRecovered?: (projection: string) => void }>

/**
 * Tells once when a projection folds: after it was opened, because an earlier run may have reported it as stopped, and after it failed for a moment.
 * It must have moved on, or be caught up: that it has not failed again says nothing, because it may only wait for another one that fails.
 */
export function createRecoveries({ clock, onRecovered = () => {} }: RecoveriesOptions) {
  const awaited = new Map<string, Awaited>()
  const wait = (projection: string, lanes: readonly Lane[]): void =>
    void awaited.set(projection, { at: clock(), positions: new Map(lanes.map((lane) => [lane, lane.position()])) })
  return {
    opened: wait,
    failed(projection: string, retried: boolean, lanes: readonly Lane[]): void {
      if (retried) wait(projection, lanes)
      else awaited.delete(projection)
    },
    /** To be called after a heartbeat, for lanes that are open; `rests`: those that have failed and were not tried again yet. */
    tell(lanes: readonly Lane[], rests: (lane: Lane) => boolean): void {
      for (const [projection, { at, positions }] of awaited) {
        const own = lanes.filter((lane) => lane.projection === projection)
        const folds = (lane: Lane): boolean =>
          !rests(lane) && (lane.position() > (positions.get(lane) ?? -1) || lane.caughtUpAt() > at)
        if (own.length === 0 || !own.every(folds)) continue
        awaited.delete(projection)
        onRecovered(projection)
      }
    },
  }
}
