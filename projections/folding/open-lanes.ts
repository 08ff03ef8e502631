import { TransientError } from '#src/lib/failure.ts'
import type { Position } from '#src/events/envelope.ts'
import { LostRecordError, type IndexName } from '../index-store.ts'
import type { Projection } from '../projection.ts'
import type { Folding } from './folding.ts'
import type { Lane } from './lane.ts'
import { createRecoveries } from './recoveries.ts'

/** A projection that failed. `retried`: it will be retried automatically; else it stays stopped until the process is restarted. */
export type ProjectionFailure = Readonly<{ projection: string; error: unknown; retried: boolean }>

type Given = Pick<Folding, 'projections' | 'timers' | 'clock'> &
  Readonly<{ onFailure: (failure: ProjectionFailure) => void; onRecovered?: (projection: string) => void }>

const retryPauseMs = 1_000

/** Lanes grouped by position, the furthest first; within a group in the order of the projections. */
function byPlace(lanes: readonly Lane[]): readonly (readonly Lane[])[] {
  const groups = new Map<Position, Lane[]>()
  for (const lane of lanes) groups.set(lane.position(), [...(groups.get(lane.position()) ?? []), lane])
  return [...groups].sort(([a], [b]) => b - a).map(([, group]) => group)
}

/** The lanes that are open. Runs tasks of lanes and of projections: one that fails rests or stops alone. */
export type OpenLanes = Readonly<{
  all(): readonly Lane[]
  of(index: IndexName): Lane | undefined
  add(lane: Lane): void
  /** Lets go of the projection's lanes of other builds. */
  keepOnly(projection: string, builds: readonly IndexName[]): void
  /** Whether a build, or a projection, has failed for good: it stays stopped until the process is restarted. */
  isStopped(name: string): boolean
  /** Lanes grouped by position, the furthest group first. A resting lane is in none. */
  groups(): readonly (readonly Lane[])[]
  /** Lanes that rest after a TransientError go on. True when there were such. */
  goOn(): boolean
  /** Why none can go on: the failure of the lane that stopped last, when none is left; or that a record is gone from which they were opened. */
  failure(): unknown
  /** Tells of a failure of a projection. True when it is to be retried. */
  failed(projection: string, error: unknown): boolean
  /** To be called once the first lanes are open. */
  begin(): void
  /** Tells of projections that fold, once they do at first and where they have failed. To be called after a heartbeat of all lanes. */
  tellRecovered(): void
  together(task: (lane: Lane) => Promise<void>): Promise<void>
  each(lanes: readonly Lane[], task: (lane: Lane) => Promise<void>, signal: AbortSignal): Promise<void>
  /** One that fails for a moment is tried again, until the signal aborts. */
  eachProjection(task: (projection: Projection) => Promise<void>, signal: AbortSignal): Promise<void>
}>

export function createOpenLanes(given: Given): OpenLanes {
  const { projections, timers, onFailure } = given
  let lanes: readonly Lane[] = []
  const resting = new Set<Lane>()
  const stopped = new Set<string>()
  const recoveries = createRecoveries(given)
  let failure: unknown
  let lostRecord: LostRecordError | undefined
  const stop = (name: string, stays: (lane: Lane) => boolean, error: unknown): void => {
    lanes = lanes.filter(stays)
    stopped.add(name)
    failure = error
    if (error instanceof LostRecordError) lostRecord = error
  }
  const failed = (projection: string, error: unknown): boolean => {
    const retried = error instanceof TransientError
    recoveries.failed(projection, retried, lanes)
    onFailure({ projection, error, retried })
    return retried
  }
  /** A failing lane does not hold up the others: its index may be down while theirs are not. */
  const tryLane = async (lane: Lane, task: (lane: Lane) => Promise<void>): Promise<void> => {
    if (!lanes.includes(lane) || resting.has(lane)) return
    try {
      await task(lane)
    } catch (error) {
      if (failed(lane.projection, error)) resting.add(lane)
      else stop(lane.index, (other) => other !== lane, error)
    }
  }
  return {
    all: () => lanes,
    of: (index) => lanes.find((lane) => lane.index === index),
    add: (lane) => void (lanes = [...lanes, lane]),
    keepOnly(projection, builds) {
      lanes = lanes.filter((lane) => lane.projection !== projection || builds.includes(lane.index))
    },
    isStopped: (name) => stopped.has(name),
    groups: () => byPlace(lanes.filter((lane) => !resting.has(lane))),
    goOn() {
      const { size } = resting
      resting.clear()
      return size > 0
    },
    failure: () => lostRecord ?? (lanes.length === 0 ? failure : undefined),
    failed,
    begin: () => projections.forEach(({ name }) => recoveries.opened(name, lanes)),
    tellRecovered: () => recoveries.tell(lanes, (lane) => resting.has(lane)),
    async together(task) {
      await Promise.all(lanes.map((lane) => tryLane(lane, task)))
    },
    async each(some, task, signal) {
      for (const lane of some) if (!signal.aborted) await tryLane(lane, task)
    },
    async eachProjection(task, signal) {
      for (const projection of projections) {
        const { name } = projection
        for (let isDone = false; !isDone && !signal.aborted && !stopped.has(name);) {
          try {
            await task(projection)
            isDone = true
          } catch (error) {
            if (failed(name, error)) await timers.pause(retryPauseMs, signal)
            else stop(name, (lane) => lane.projection !== name, error)
          }
        }
      }
    },
  }
}
