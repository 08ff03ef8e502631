import type { Position } from '#src/events/envelope.ts'
import type { Clock } from '#src/lib/clock.ts'
import type { Lane } from './lane.ts'

/** When a projection failed last, and where the lanes were. */
type Failed = Readonly<{ at: number; positions: ReadonlyMap<Lane, Position> }>

type RecoveriesOptions = Readonly<{ clock: Clock; onRecovered?: (projection: string) => void }>

/** Which projections have failed for a moment, and fold again. That one does not fail says nothing: it may wait for another that does. */
export function createRecoveries({ clock, onRecovered = () => {} }: RecoveriesOptions) {
  const failed = new Map<string, Failed>()
  return {
    failed(projection: string, retried: boolean, lanes: readonly Lane[]): void {
      if (!retried) return void failed.delete(projection)
      failed.set(projection, { at: clock(), positions: new Map(lanes.map((lane) => [lane, lane.position()])) })
    },
    /** To be called after a heartbeat, for lanes that are open; `rests`: those that have failed and were not tried again yet. */
    tell(lanes: readonly Lane[], rests: (lane: Lane) => boolean): void {
      for (const [projection, { at, positions }] of failed) {
        const own = lanes.filter((lane) => lane.projection === projection)
        const folds = (lane: Lane): boolean =>
          !rests(lane) && (lane.position() > (positions.get(lane) ?? -1) || lane.caughtUpAt() > at)
        if (own.length === 0 || !own.every(folds)) continue
        failed.delete(projection)
        onRecovered(projection)
      }
    },
  }
}
