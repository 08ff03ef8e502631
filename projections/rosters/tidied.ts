import type { FollowedBuild, IndexName, Roster } from '../index-store.ts'
import { isMadeBefore } from './build-name.ts'
import { giveUp, lose, type Change } from './roster.ts'

/**
 * What was read of builds before a roster is tidied: of which log they are, and whether they had read events that this log has lost. A build that
 * is not named was not asked for: nothing is decided by what is not known.
 */
export type BuildFacts = Readonly<{
  nowMs: number
  ofThisLog: ReadonlyMap<IndexName, boolean>
  lost: ReadonlyMap<IndexName, boolean>
}>

type Beside = Readonly<{ build: FollowedBuild; live: IndexName | undefined; facts: BuildFacts }>

/** Whether its time is over, or it is of another log, as after a restore from a backup: it cannot be folded further, nor be rolled back to. */
const isOver = ({ build: { index, as, untilMs }, facts: { nowMs, ofThisLog } }: Beside): boolean =>
  as === 'kept' && untilMs !== undefined && (untilMs <= nowMs || ofThisLog.get(index) === false)

/** Whether this is a candidate that was made before the live build and is of another log, while that one is of this log: nobody folds it on. */
const isOvertaken = ({ build: { index, as }, live, facts: { ofThisLog } }: Beside): boolean =>
  as === 'candidate' &&
  live !== undefined &&
  isMadeBefore(index, live) &&
  ofThisLog.get(live) === true &&
  ofThisLog.get(index) === false

/** Whether it had read more than the log still has, but the live one had not. (If both had, all are rebuilt.) */
const isBeyond = ({ build: { index }, live, facts: { lost } }: Beside): boolean =>
  lost.get(index) === true && (live === undefined || lost.get(live) === false)

function changeOf(beside: Beside): Change | undefined {
  const { index } = beside.build
  if (isOver(beside) || isOvertaken(beside)) return giveUp(index)
  return isBeyond(beside) ? lose(index) : undefined
}

/** Gives up the builds beside the live one that are of no more use, and marks those that the log has lost but somebody keeps. */
export const tidied =
  (facts: BuildFacts): Change =>
  (roster) => {
    let next: Roster | undefined
    for (const build of roster.followed) next = changeOf({ build, live: roster.live, facts })?.(next ?? roster) ?? next
    return next
  }
