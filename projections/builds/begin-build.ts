import { PermanentError, TransientError } from '#src/lib/failure.ts'
import type { Position } from '#src/events/envelope.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import type { BuildTask } from '../folding/fold-share.ts'
import { hasLostTail } from '../folding/log-tail.ts'
import { withSeenEvents } from '../folding/seen-events.ts'
import { storedBuild, type FollowedBuild, type IndexName, type IndexWriter } from '../index-store.ts'
import type { Projection } from '../projection.ts'
import { buildNumber, buildVersion } from '../rosters/build-name.ts'
import { nextBuild } from '../rosters/choose-build.ts'
import { begin, changeRoster, forget, giveUp, holding, movesTo } from '../rosters/roster.ts'
import { withAudit, withWriter, type BuildContext } from './build-place.ts'
import { refuseBesideLater } from './move-readers.ts'

export type BeginOptions = Readonly<{
  /** Folds only this workspace again, and copies the others from the live build. */
  workspaceId?: WorkspaceId
  /** Events up to this position are left out of the new build. */
  from?: Position
  signal?: AbortSignal
}>

/** A build that a rebuild has begun, or goes on with. */
export type Begun = BuildTask & Readonly<{ fold: Projection; former: IndexName | undefined; resumed: boolean }>

type Found = Readonly<{ index: IndexName; resumes: boolean; stale: readonly IndexName[] }>

/** The build that an earlier rebuild of the same kind left unfinished, or the name of a new one. */
export async function findBuild(
  { stream }: BuildContext,
  writer: IndexWriter,
  projection: Projection,
  { workspaceId, from = 0 }: BeginOptions,
): Promise<Found> {
  const { followed } = await writer.roster(projection.name)
  const stored = await writer.builds(projection.name)
  const begun = followed.filter(({ as }) => as === 'building')
  const mayGoOn = async ({ index, workspaceId: ofOne }: FollowedBuild): Promise<boolean> => {
    const build = stored.find((one) => one.index === index)
    // A copy may have been interrupted: such a build is begun again from nothing.
    if (ofOne !== undefined || workspaceId !== undefined || build?.epoch !== stream.epoch) return false
    // One of another version is folded by another fold.
    if (build.after !== from || buildNumber(projection, index) === undefined) return false
    return !(await hasLostTail(stream, build))
  }
  let resumable: IndexName | undefined
  for (const build of begun) {
    if (!(await mayGoOn(build))) continue
    resumable = build.index
    break
  }
  const index = resumable ?? (await nextBuild(writer, projection))
  const stale = begun.map((build) => build.index).filter((name) => name !== resumable)
  return { index, resumes: resumable !== undefined, stale }
}

/** Removes a build that only a rebuild has folded. */
export async function discard(writer: IndexWriter, projection: string, index: IndexName): Promise<void> {
  await changeRoster(writer, projection, giveUp(index))
  await writer.drop(index)
  await changeRoster(writer, projection, forget(index))
}

/** Retries: another partition that shares the indices may just be removing a build of this name. */
const openAttemptsMax = 5
const openPauseMs = 1_000

async function openNew(
  { stream, timers }: BuildContext,
  writer: IndexWriter,
  projection: Projection,
  { index, after, signal }: Readonly<{ index: IndexName; after: Position; signal: AbortSignal | undefined }>,
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await writer.open(index, withSeenEvents(projection), stream.epoch, after)
    } catch (error) {
      if (!(error instanceof TransientError) || attempt === openAttemptsMax || signal?.aborted === true) throw error
    }
    await timers.pause(openPauseMs, signal)
  }
}

/** Why a build of one workspace cannot be made of another build, `former`. */
export const refuseCopy = (workspaceId: WorkspaceId, former: IndexName, why: string): PermanentError =>
  new PermanentError({
    operation: 'rebuild',
    subject: `workspace ${workspaceId}`,
    hint: `the other workspaces would be copied from ${former}, ${why}`,
  })

/** Throws PermanentError if readers are about to leave that build for another than this one, whose copies they would then go on to. */
export function refuseMoving(workspaceId: WorkspaceId, former: IndexName, next: IndexName | undefined): void {
  if (next === undefined) return
  throw refuseCopy(
    workspaceId,
    former,
    `and readers are about to move to ${next}: begin again once they have, or drop it`,
  )
}

/** Throws PermanentError if a build has lost days of any workspace but this one: a copy of it would claim to be complete. */
export async function refuseLossOfOthers(
  { index: place }: BuildContext,
  { projection, index }: Readonly<{ projection: string; index: IndexName }>,
  but: WorkspaceId,
): Promise<void> {
  const lost = await withAudit(place, async (audit) => (await audit.lost?.(index)) ?? [])
  if (lost.some(({ workspaceId }) => workspaceId !== but))
    throw refuseCopy(but, index, `which lacks days of them: rebuild all of ${projection}`)
}

/** A build that begins beyond the head says that it has seen events that are not there: as if the log had lost them, and the next were they. */
async function refuseBeyondHead({ stream }: BuildContext, from: Position): Promise<void> {
  const head = await stream.head()
  if (from <= head) return
  const hint = `the log of partition ${stream.partition} ends at position ${head}: begin no later`
  throw new PermanentError({ operation: 'rebuild', subject: `from position ${from}`, hint })
}

/**
 * The build that readers will leave. If the other workspaces are to be copied from it, it must be of this version and this log, because
 * only one workspace is verified, and documents of another version or log would reach readers unnoticed. Readers must not be about to leave it.
 * It must not have begun later, nor have lost days of those workspaces, because the new build would claim to be complete. Nor may it hold events
 * that the log has lost, because the new build would hold them too.
 */
export async function formerOf(
  context: BuildContext,
  writer: IndexWriter,
  projection: Projection,
  { workspaceId, from = 0 }: BeginOptions,
): Promise<IndexName | undefined> {
  const { name } = projection
  await refuseBeyondHead(context, from)
  const roster = await writer.roster(name)
  const { live: former } = roster
  if (workspaceId === undefined) {
    await refuseBesideLater(context, writer, projection)
    return former
  }
  const stored = await storedBuild(writer, name, former)
  if (former === undefined || stored?.epoch !== context.stream.epoch) {
    const hint = `readers have no build of ${name} to copy the other workspaces from: rebuild all of it`
    throw new PermanentError({ operation: 'rebuild', subject: `workspace ${workspaceId}`, hint })
  }
  const refuse = (why: string): PermanentError => refuseCopy(workspaceId, former, why)
  if (buildNumber(projection, former) === undefined) {
    const isOlder = buildVersion(former) < projection.version
    const instead = isOlder ? `rebuild all of ${name}, or start the server, which does` : 'start the newer program'
    throw refuse(`and this program folds version ${projection.version}: ${instead}`)
  }
  if (stored.after > from) {
    const instead = `rebuild all of ${name}, or say --from ${stored.after}`
    throw refuse(`which has nothing up to position ${stored.after}: ${instead}`)
  }
  if (await hasLostTail(context.stream, stored))
    throw refuse(`which has seen what the log has lost: rebuild all of ${name}`)
  refuseMoving(workspaceId, former, movesTo(roster, projection.version))
  await refuseLossOfOthers(context, { projection: name, index: former }, workspaceId)
  return former
}

async function beginBuild(
  context: BuildContext,
  writer: IndexWriter,
  { projection, former }: Readonly<{ projection: Projection; former: IndexName | undefined }>,
  options: BeginOptions,
): Promise<Begun> {
  const { index, resumes, stale } = await findBuild(context, writer, projection, options)
  const { name } = projection
  const { from = 0, workspaceId, signal } = options
  for (const old of stale) await discard(writer, name, old)
  if (!resumes) {
    const { changed } = await changeRoster(writer, name, begin(index, workspaceId))
    if (!changed) return beginBuild(context, writer, { projection, former }, options)
    await openNew(context, writer, projection, { index, after: from, signal })
  } else {
    // Retention then counts again from now for how long it has been abandoned.
    await changeRoster(writer, name, holding(index, undefined))
  }
  return { projection: name, fold: projection, index, after: from, until: from, former, resumed: resumes }
}

/** Begins builds of all these projections; none where one of them is refused. */
export const beginBuilds = (
  context: BuildContext,
  projections: readonly Projection[],
  options: BeginOptions,
): Promise<readonly Begun[]> =>
  withWriter(context.index, async (writer) => {
    const formers = new Map<Projection, IndexName | undefined>()
    for (const projection of projections) formers.set(projection, await formerOf(context, writer, projection, options))
    const builds: Begun[] = []
    for (const [projection, former] of formers)
      builds.push(await beginBuild(context, writer, { projection, former }, options))
    return builds
  })
