import type { Position } from '#src/events/envelope.ts'
import type { Heartbeat, IndexName } from '../../index-store.ts'
import { checkpointFields, furthestOf, progressIn, type BuildProgress } from './build-record.ts'
import { changeBuild, lostRecord } from './builds.ts'
import type { Place } from './place.ts'
import type { StoredRecord } from './records.ts'

/** How far a writer is with a build, and what the build's record says of that. */
export type Progress = ReturnType<typeof createProgress>

type ProgressOptions = Readonly<{
  now: () => number
  /** The least time between two records without news. */
  everyMs: number
  /** The share of the work whose checkpoint is recorded; then readers are told nothing. */
  share: string | undefined
}>

const furthest = ({ position, ahead }: Heartbeat): Position => Math.max(position, ahead?.position ?? 0)
const isComplete = ({ position, head }: Heartbeat): boolean => position >= head

/** `start`: what the record says now. */
export function createProgress(
  place: Place,
  index: IndexName,
  { now, everyMs, share }: ProgressOptions,
  start: BuildProgress,
) {
  let { checkpoint: written, checkpoint: recorded, heartbeat: told } = start
  let toldAt = -Infinity
  let record: StoredRecord | undefined
  const write = async (progress: BuildProgress): Promise<void> => {
    record = await changeBuild(place, index, (source) => furthestOf(progressIn(source), progress), record)
  }
  /** Records the checkpoint without telling readers; false if the build no longer exists. */
  const save = async (): Promise<boolean> => {
    const checkpoint = written
    if (checkpoint <= recorded) return true
    const saved = await changeBuild(place, index, (source) => checkpointFields(source, checkpoint, share))
    if (saved === undefined) return false
    recorded = Math.max(recorded, checkpoint)
    return true
  }
  return {
    /** The checkpoint in the build's record. */
    recorded: (): Position => recorded,
    /** When readers were last told, by the process's own time, ms. */
    toldAt: (): number => toldAt,
    /** All up to there is written. */
    wrote: (position: Position): void => void (written = Math.max(written, position)),
    save,
    /** Records how far the build is, if that is news or was last recorded some time ago. */
    async tell(heartbeat: Heartbeat): Promise<void> {
      if (share !== undefined) {
        if (!(await save())) throw lostRecord(index)
        return
      }
      const checkpoint = written
      const isNews = furthest(heartbeat) > furthest(told) || isComplete(heartbeat) !== isComplete(told)
      if (!isNews && now() - toldAt < everyMs) return
      await write({ checkpoint, heartbeat })
      if (record === undefined) throw lostRecord(index)
      ;[recorded, told, toldAt] = [checkpoint, heartbeat, now()]
    },
    /** Tells the last heartbeat again with the current time, unless that was told less than so long ago. */
    async tellAgain(afterMs: number): Promise<void> {
      const passedMs = now() - toldAt
      if (passedMs < afterMs) return
      ;[told, toldAt] = [{ ...told, at: told.at + Math.round(passedMs) }, now()]
      await write({ checkpoint: recorded, heartbeat: told })
    },
  }
}
