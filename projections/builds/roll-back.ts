import { PermanentError } from '#src/lib/failure.ts'
import { checkTail } from '../folding/log-tail.ts'
import { storedBuild, type FollowedBuild, type IndexName, type Roster } from '../index-store.ts'
import type { Projection } from '../projection.ts'
import { buildVersion, isMadeBefore } from '../rosters/build-name.ts'
import { changeRoster, movesTo, nominate } from '../rosters/roster.ts'
import { withWriter, type BuildContext } from './build-place.ts'
import { isFoldedByOther, moveReaders } from './move-readers.ts'

type WayBack = Readonly<{ index: IndexName; former: IndexName }>
type WayIn = Readonly<{ kept: FollowedBuild; live: IndexName }>

/**
 * Where a way back leads: to the build of one that was begun and broken off, which is a candidate then, or to the last kept one;
 * undefined if there is none. What a later program has kept is none: this one cannot fold it. Throws if it is of an earlier version, or
 * if readers use a later program's build and there is none of this version to leave it for.
 */
function wayIn({ live, followed }: Roster, { name, version }: Projection): WayIn | undefined {
  if (live === undefined) return undefined
  const known = followed.filter(({ index }) => buildVersion(index) <= version)
  const begun = known.find(({ index, as }) => as === 'candidate' && isMadeBefore(index, live))
  const kept = begun ?? known.findLast(({ as }) => as === 'kept')
  const keptVersion = kept === undefined ? undefined : buildVersion(kept.index)
  if (keptVersion !== version && buildVersion(live) > version)
    throw refuseRollBack(
      name,
      `no build of version ${version} is kept, and this program does not fold ${live}: run rebuild ${name} of this program`,
    )
  if (kept !== undefined && keptVersion !== version)
    throw refuseRollBack(
      name,
      `${kept.index} is of version ${keptVersion}, which only the program of that version folds: run rollback of that one`,
    )
  return kept && { kept, live }
}

/** Whether readers have gone back, so that the way leads to a later build; undefined if no build is kept. Throws as `wayIn` does. */
export async function isBack({ index }: BuildContext, projection: Projection): Promise<boolean | undefined> {
  const roster = await withWriter(index, (writer) => writer.roster(projection.name))
  const way = wayIn(roster, projection)
  return way && isMadeBefore(way.live, way.kept.index)
}

/** The build that readers used before, and the one that they use now; undefined if none is kept. Throws if it cannot be folded further. */
export async function wayBack(context: BuildContext, projection: Projection): Promise<WayBack | undefined> {
  const { name } = projection
  const refuse = (hint: string): PermanentError => refuseRollBack(name, hint)
  return withWriter(context.index, async (writer) => {
    const roster = await writer.roster(name)
    const way = wayIn(roster, projection)
    if (way === undefined) return undefined
    const { index: kept, lost = false } = way.kept
    refuseMoving(roster, projection, kept)
    const stored = await storedBuild(writer, name, kept)
    if (stored?.epoch !== context.stream.epoch)
      throw refuse(`${kept} is of another log, as before a backup was restored: nothing can be folded into it`)
    if (lost) throw refuse(`${kept} has seen what the log has lost: nothing can be folded into it`)
    await checkTail(context.stream, stored)
    if (await isFoldedByOther(context, writer, projection))
      throw refuse(`a program of another version folds ${way.live}: stop it first`)
    return { index: kept, former: way.live }
  })
}

const refuseRollBack = (subject: string, hint: string): PermanentError =>
  new PermanentError({ operation: 'roll back', subject, hint })

/** Throws PermanentError if readers are about to move to another build than this one: they would not stay. */
function refuseMoving(roster: Roster, { name, version }: Projection, index: IndexName): void {
  const next = roster.live === index ? undefined : movesTo(roster, version, index)
  if (next !== undefined)
    throw refuseRollBack(
      name,
      `readers are about to move to ${next}: wait until they have, or stop its rebuild and drop it`,
    )
}

/** The build to which readers are about to move; undefined if there is none. To one of another version no program of this one moves them. */
async function nextOf({ index }: BuildContext, { name, version }: Projection): Promise<IndexName | undefined> {
  return movesTo(await withWriter(index, (writer) => writer.roster(name)), version)
}

/**
 * Readers go back to the build that they used before. `decided`: the way back as it was when that was decided. Whoever has gone it meanwhile has
 * done what was wanted: to look for it again would turn round.
 */
export async function rollBack(context: BuildContext, projection: Projection, decided?: WayBack): Promise<WayBack> {
  const way = decided ?? (await wayBack(context, projection))
  if (way === undefined) {
    const next = await nextOf(context, projection)
    const moving = next === undefined ? '' : `; readers are about to move to ${next}`
    throw refuseRollBack(projection.name, `no earlier build of it is kept${moving}`)
  }
  await withWriter(context.index, async (writer) => {
    const { name } = projection
    await changeRoster(writer, name, (roster) => {
      refuseMoving(roster, projection, way.index)
      return nominate(way.index)(roster)
    })
    await moveReaders(context, writer, projection, way.index)
  })
  return way
}
