import type { WorkspaceId } from '#src/events/workspace-id.ts'
import type { FollowedBuild, IndexName, IndexWriter, Roster } from '../index-store.ts'
import { buildVersion, isMadeBefore, isUpTo } from './build-name.ts'

/** How long the previous build is still folded after readers have left it, so that a rollback is instant and not stale. */
export const keptMs = 86_400_000

/** What a roster becomes; undefined where it stays as it is. */
export type Change = (roster: Roster) => Roster | undefined

/** How often a change is tried again when others were faster. They are few, and seldom change it. */
const attemptsMax = 100

const without = (roster: Roster, index: IndexName): readonly FollowedBuild[] =>
  roster.followed.filter((build) => build.index !== index)

/** The entry of a build beside the live one; undefined if it is not followed, or gone. */
export const followedBuild = ({ followed }: Roster, index: IndexName): FollowedBuild | undefined =>
  followed.find((build) => build.index === index && build.as !== 'gone')

/** How a build is followed; undefined if it is not. */
export const followedAs = (roster: Roster, index: IndexName): FollowedBuild['as'] | undefined =>
  followedBuild(roster, index)?.as

/** Whether the projector folds this build beside the live one. */
const isFollowedOn = (build: FollowedBuild | undefined): build is FollowedBuild =>
  (build?.as === 'candidate' || build?.as === 'kept') && build.lost !== true

/** The builds that are folded beside the live one. */
export const foldedBeside = ({ followed }: Roster): readonly IndexName[] =>
  followed.filter(isFollowedOn).map(({ index }) => index)

/** The build of this version to which readers are about to move, if it is another than `index`. */
export const movesTo = ({ followed }: Roster, version: number, index?: IndexName): IndexName | undefined =>
  followed.find((build) => build.as === 'candidate' && build.index !== index && buildVersion(build.index) === version)
    ?.index

/** Whether a name is used up: its build is being removed, or was. A process that still has the name must neither fold nor read it. */
export function isGone(roster: Roster, index: IndexName): boolean {
  if (roster.live === index || !['dropped', undefined].includes(followedAs(roster, index))) return false
  return roster.followed.some(({ index: other, as }) => (as === 'dropped' || as === 'gone') && isUpTo(index, other))
}

/** A rebuild begins this build; not if a projector has begun one of that name meanwhile, or the name is used up. */
export const begin =
  (index: IndexName, workspaceId?: WorkspaceId): Change =>
  (roster) => {
    if (roster.live === index || followedAs(roster, index) !== undefined || isGone(roster, index)) return undefined
    const of = workspaceId === undefined ? {} : { workspaceId }
    return { ...roster, followed: [...without(roster, index), { index, as: 'building', ...of }] }
  }

/** Readers shall move to this build; at once if they have none. `keeps`: the build that they leave is then kept without a limit. */
export const nominate =
  (index: IndexName, keeps?: IndexName): Change =>
  (roster) => {
    if (roster.live === index || followedAs(roster, index) === 'candidate' || isGone(roster, index)) return undefined
    if (roster.live === undefined) return { ...roster, live: index, followed: without(roster, index) }
    const candidate: FollowedBuild = { index, as: 'candidate', ...(keeps === undefined ? {} : { keeps }) }
    return { ...roster, followed: [...without(roster, index), candidate] }
  }

/**
 * As `nominate`, for what a rebuild has made. Where an earlier one was broken off before readers had moved to its build, that is given up: readers
 * would move there after all, and back in time. What that was to keep is kept.
 */
export const supersede =
  (index: IndexName, keeps?: IndexName): Change =>
  (roster) => {
    const { live, followed } = roster
    const isLeft = (build: FollowedBuild): boolean =>
      build.as === 'candidate' &&
      buildVersion(build.index) === buildVersion(index) &&
      live !== undefined &&
      isMadeBefore(live, build.index) &&
      isMadeBefore(build.index, index)
    const left = followed.filter(isLeft)
    const nominated = nominate(index, keeps ?? left.find((build) => build.keeps !== undefined)?.keeps)(roster)
    if (nominated === undefined || left.length === 0) return nominated
    const now = nominated.followed.map((build) =>
      isLeft(build) ? { index: build.index, as: 'dropped' as const } : build,
    )
    return { ...nominated, followed: now }
  }

/** Of builds of one projection: whether one is of an earlier version than another. */
const isEarlier = (index: IndexName, other: IndexName): boolean => buildVersion(index) < buildVersion(other)

/**
 * As `nominate`, for a build that a projector has chosen; not if a rebuild has begun one of that name meanwhile, or it is to be removed, or
 * readers have left it for another of its version. One that is marked for holding back the cut is no rebuild's: a projector chooses none that is
 * named, so retention has found it between its making and this (`holding`).
 */
export const claim =
  (index: IndexName): Change =>
  (roster) => {
    const { as, heldSinceMs, workspaceId } = followedBuild(roster, index) ?? {}
    const isLeft = as === 'kept' && roster.live !== undefined && isEarlier(roster.live, index)
    const isMarked = as === 'building' && heldSinceMs !== undefined && workspaceId === undefined
    return as === undefined || isLeft || isMarked ? nominate(index)(roster) : undefined
  }

/**
 * What a build is when readers move to another one. Only the build that they left last is kept for a time: each costs as much as the live one.
 * A candidate of an earlier version, of an upgrade that the next one has overtaken, is folded by nobody: its program folds nothing beside a
 * later one.
 */
const beside =
  (live: IndexName) =>
  (build: FollowedBuild): FollowedBuild => {
    const isLeft = build.as === 'candidate' && isEarlier(build.index, live)
    const isOver = build.as === 'kept' && build.untilMs !== undefined
    return isLeft || isOver ? { index: build.index, as: 'dropped' } : build
  }

/**
 * Readers move from one build to another, unless they have moved elsewhere meanwhile. The build they leave is kept until `keptUntilMs`, or
 * without a limit if a followed build says so (`keeps`). The one that was kept for a time before is dropped, and so are candidates of earlier
 * versions.
 */
export const promoteTo =
  (index: IndexName, from: IndexName | undefined, keptUntilMs: number): Change =>
  (roster) => {
    const { live } = roster
    if (live === index || live !== from || isGone(roster, index)) return undefined
    const others = without(roster, index).map(beside(index))
    if (live === undefined) return { ...roster, live: index, followed: others }
    const isKeptOn = roster.followed.some(({ keeps }) => keeps === live)
    const kept: FollowedBuild = { index: live, as: 'kept', ...(isKeptOn ? {} : { untilMs: keptUntilMs }) }
    return { ...roster, live: index, followed: [...others, kept] }
  }

/** The build is to be removed. The live one stays. */
export const giveUp =
  (index: IndexName): Change =>
  (roster) =>
    roster.live === index || followedAs(roster, index) === 'dropped'
      ? undefined
      : { ...roster, followed: [...without(roster, index), { index, as: 'dropped' }] }

/**
 * A build beside the live one has read events that its log has lost. It cannot be folded further, nor be rolled back to. It is dropped, unless
 * it is kept without a limit.
 */
export const lose =
  (index: IndexName): Change =>
  (roster) => {
    const build = followedBuild(roster, index)
    if (!isFollowedOn(build)) return undefined
    if (build.as === 'candidate' || build.untilMs !== undefined) return giveUp(index)(roster)
    return { ...roster, followed: roster.followed.map((one) => (one === build ? { ...one, lost: true } : one)) }
  }

/** The kept build stays until an operator drops it. */
export const keepOn =
  (index: IndexName): Change =>
  (roster) => {
    const kept = followedBuild(roster, index)
    if (kept?.as !== 'kept' || kept.untilMs === undefined) return undefined
    // The order matters: the last kept build is where readers came from.
    return { ...roster, followed: roster.followed.map((one) => (one === kept ? { index, as: 'kept' } : one)) }
  }

/** The build is removed. Of each version only the last removed build is remembered; it stands for all before it. */
export const forget =
  (index: IndexName): Change =>
  (roster) => {
    if (followedAs(roster, index) === undefined) return undefined
    const others = { ...roster, followed: without(roster, index) }
    if (isGone(others, index)) return others
    const followed = others.followed.filter((build) => build.as !== 'gone' || !isUpTo(build.index, index))
    return { ...roster, followed: [...followed, { index, as: 'gone' }] }
  }

/** Since when (ms) this build holds back the cut of the log; undefined: it no longer does. A build that the roster does not name counts as a rebuild's. */
export const holding =
  (index: IndexName, sinceMs: number | undefined): Change =>
  (roster) => {
    const build = followedBuild(roster, index)
    if (build?.heldSinceMs === sinceMs || roster.live === index) return undefined
    const { heldSinceMs: _, ...rest } = build ?? { index, as: 'building' as const }
    const marked = sinceMs === undefined ? rest : { ...rest, heldSinceMs: sinceMs }
    const { followed } = roster
    return {
      ...roster,
      followed: build === undefined ? [...followed, marked] : followed.map((one) => (one === build ? marked : one)),
    }
  }

/**
 * Changes a projection's roster by compare-and-set, and tries again if somebody else was faster. Returns the roster as it is then, and
 * whether this call changed it.
 */
export async function changeRoster(
  writer: Pick<IndexWriter, 'roster' | 'changeRoster'>,
  projection: string,
  change: Change,
): Promise<Readonly<{ roster: Roster; changed: boolean }>> {
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    const roster = await writer.roster(projection)
    const next = change(roster)
    if (next === undefined) return { roster, changed: false }
    if (await writer.changeRoster(projection, next)) return { roster: await writer.roster(projection), changed: true }
  }
  throw new Error(`the roster of ${projection} changes all the time`)
}
