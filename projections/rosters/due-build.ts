import type { Position } from '#src/events/envelope.ts'
import { foldedBy, reachedFor, type IndexName, type Reached, type Roster, type StoredBuild } from '../index-store.ts'

/** Whether a build has everything that was told to be folded ahead of another one's position. */
function isAsFar(own: Reached, told: Reached): boolean {
  if (told.ahead === undefined || told.ahead.position <= own.position) return true
  if (own.ahead === undefined || own.ahead.position < told.ahead.position) return false
  return [...own.ahead.behind.keys()].every(
    (workspaceId) => reachedFor(own, workspaceId) >= reachedFor(told, workspaceId),
  )
}

/**
 * What a projector knows: how far it has folded a build, undefined where it does not fold it; the log's head; and the head when it first considered
 * moving readers, up to which an earlier projector may have written unreported.
 */
type FoldedHere = Readonly<{
  reached: (index: IndexName) => Reached | undefined
  head: Position
  begunAt: Position
}>

/** Whether readers may move from one build to another now, without going back in time, as far as who folds them knows. */
function isDue(index: IndexName, live: IndexName | undefined, { reached, head, begunAt }: FoldedHere): boolean {
  const [own, before] = [reached(index), live === undefined ? undefined : reached(live)]
  if (own === undefined || own.position < begunAt) return false
  if (before === undefined) return own.position >= head
  // It is further where the live build's index takes nothing: to wait for that one would be to wait for what it is to replace.
  return own.position >= before.position && isAsFar(own, before)
}

/** The candidate to which readers may move, by what was folded here; undefined if there is none. */
export const dueBuild = ({ live, followed }: Roster, folded: FoldedHere): IndexName | undefined =>
  followed.find(({ index, as }) => as === 'candidate' && isDue(index, live, folded))?.index

/**
 * Whether all that readers find in the live build is in one that is this far. Another process may have folded the live one further than this
 * one has: another projector, for a moment, or a rebuild of the first build there is. `live`: as it is stored; undefined if it is not there.
 */
export const holdsAllOf = (own: Reached, live: StoredBuild | undefined, epoch: string): boolean =>
  live === undefined || live.epoch !== epoch || (own.position >= foldedBy(live) && isAsFar(own, live.heartbeat))
