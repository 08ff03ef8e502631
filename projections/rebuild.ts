import { present } from '#src/lib/assert.ts'
import { PermanentError, TransientError } from '#src/lib/failure.ts'
import type { Position } from '#src/events/envelope.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import { buildNumber, buildVersion, nextBuild } from './build-name.ts'
import { withWriter, type BuildContext } from './build-place.ts'
import type { BuildTask } from './fold-share.ts'
import { foldShares } from './fold-shares.ts'
import { storedBuild, type FollowedBuild, type IndexName, type IndexWriter } from './index-store.ts'
import { hasLostTail } from './log-tail.ts'
import { moveReaders, type Moved } from './move-readers.ts'
import type { Projection } from './projection.ts'
import { begin, changeRoster, forget, giveUp, holding, keepOn, nominate } from './roster.ts'
import { withSeenEvents } from './seen-events.ts'
import { verify, type Verdict } from './verify.ts'

export type RebuildOptions = Readonly<{
  /** Folds only this workspace again, and copies the others from the live build. */
  workspaceId?: WorkspaceId
  /** Events up to this position are left out of the new build. */
  from?: Position
  /** Keeps the build that readers leave until it is dropped explicitly, instead of for 24 hours. */
  keep?: boolean
  eventsPerSecondMax?: number
  signal?: AbortSignal
  onProgress?: (progress: RebuildProgress) => void
}>

/** `phase`: the current step; for `fold` and `verify`, with the position in the log. */
export type RebuildProgress = Readonly<{
  phase: 'copy' | 'fold' | 'verify' | 'move'
  position: Position
  from: Position
  until: Position
}>

export type Rebuilt = Readonly<{
  projection: string
  index: IndexName
  former: IndexName | undefined
  resumed: boolean
  verdict: Verdict
  /** `different`: the new build differs from the fold of the log, and readers stay on the old one. */
  outcome: Moved | 'different'
}>

/** What a rebuild would do. Positions grow by 4096 for each message, so their distance tells about how many events are to be folded. */
export type RebuildPlan = Readonly<{
  projection: string
  index: IndexName
  live: IndexName | undefined
  resumes: boolean
  from: Position
  head: Position
}>

type Begun = BuildTask & Readonly<{ fold: Projection; former: IndexName | undefined; resumed: boolean }>

/** The most rounds of catching up before readers are moved. Each is shorter than the one before. */
const roundsMax = 20
/**
 * A round that took no longer left so little behind that the projector can take over. So did one that had about as much
 * as the one before: that comes while workers start, which takes longer than this on a busy machine, and the next would have as much.
 */
const shortRoundMs = 2_000
const shrinksTo = 0.9

type Found = Readonly<{ index: IndexName; resumes: boolean; stale: readonly IndexName[] }>

/** The build that an earlier rebuild of the same kind left unfinished, or the name of a new one. */
async function findBuild(
  { stream }: BuildContext,
  writer: IndexWriter,
  projection: Projection,
  { workspaceId, from = 0 }: RebuildOptions,
): Promise<Found> {
  const { followed } = await writer.roster(projection.name)
  const stored = await writer.builds(projection.name)
  const begun = followed.filter(({ as }) => as === 'building')
  const mayGoOn = async ({ index, workspaceId: of }: FollowedBuild): Promise<boolean> => {
    const build = stored.find((one) => one.index === index)
    // A copy may have been interrupted: such a build is begun again from nothing.
    if (of !== undefined || workspaceId !== undefined || build?.epoch !== stream.epoch) return false
    // One of another version is folded by another fold.
    if (build.after !== from || buildNumber(projection, index) === undefined) return false
    return !(await hasLostTail(stream, build))
  }
  let resumable: FollowedBuild | undefined
  for (const build of begun) if (resumable === undefined && (await mayGoOn(build))) resumable = build
  const index = resumable?.index ?? (await nextBuild(writer, projection))
  const stale = begun.map((build) => build.index).filter((name) => name !== resumable?.index)
  return { index, resumes: resumable !== undefined, stale }
}

/** Removes a build that only a rebuild has folded. */
async function discard(writer: IndexWriter, projection: string, index: IndexName): Promise<void> {
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
    await timers.pause(openPauseMs, signal ?? new AbortController().signal)
  }
}

/** Whether a build has lost days of any workspace but this one. */
async function hasLostOthers({ index: place }: BuildContext, index: IndexName, but: WorkspaceId): Promise<boolean> {
  const audit = place.audit()
  try {
    return ((await audit.lost?.(index)) ?? []).some(({ workspaceId }) => workspaceId !== but)
  } finally {
    await audit.close()
  }
}

/** An index that says it has seen more than there is makes the log look cut short to whoever starts next, and what is yet to come old. */
async function refuseBeyondHead({ stream }: BuildContext, from: Position): Promise<void> {
  const head = await stream.head()
  if (from <= head) return
  const hint = `the log of partition ${stream.partition} ends at position ${head}: begin no later`
  throw new PermanentError({ operation: 'rebuild', subject: `from position ${from}`, hint })
}

type Former = Readonly<{ projection: Projection; former: IndexName | undefined }>

/**
 * The build that readers will leave. If the other workspaces are to be copied from it, it must be of this version and this log, because
 * only one workspace is verified, and documents of another version or log would reach readers unnoticed. It must not have begun later, nor
 * have lost days of those workspaces, because the new build would claim to be complete. Nor may it hold events that the log has lost,
 * because the new build would hold them too.
 */
async function formerOf(
  context: BuildContext,
  writer: IndexWriter,
  projection: Projection,
  { workspaceId, from = 0 }: RebuildOptions,
): Promise<Former> {
  const { name } = projection
  await refuseBeyondHead(context, from)
  const { live: former } = await writer.roster(name)
  if (workspaceId === undefined) return { projection, former }
  const refuse = (hint: string): PermanentError =>
    new PermanentError({ operation: 'rebuild', subject: `workspace ${workspaceId}`, hint })
  const stored = await storedBuild(writer, name, former)
  if (former === undefined || stored?.epoch !== context.stream.epoch) {
    throw refuse(`readers have no build of ${name} to copy the other workspaces from: rebuild all of it`)
  }
  if (buildNumber(projection, former) === undefined) {
    const isOlder = buildVersion(name, former) < projection.version
    const instead = isOlder ? `rebuild all of ${name}, or start the server, which does` : 'start the newer program'
    const mine = `this program folds version ${projection.version}`
    throw refuse(`the other workspaces would be copied from ${former}, and ${mine}: ${instead}`)
  }
  if (stored.after > from) {
    const begins = `the other workspaces would be copied from ${former}, which has nothing up to position ${stored.after}`
    throw refuse(`${begins}: rebuild all of ${name}, or say --from ${stored.after}`)
  }
  if (await hasLostTail(context.stream, stored)) {
    throw refuse(
      `the other workspaces would be copied from ${former}, which has seen what the log has lost: rebuild all of ${name}`,
    )
  }
  if (await hasLostOthers(context, former, workspaceId)) {
    throw refuse(
      `the other workspaces would be copied from ${former}, which lacks days of them: rebuild all of ${name}`,
    )
  }
  return { projection, former }
}

async function beginBuild(
  context: BuildContext,
  writer: IndexWriter,
  { projection, former }: Former,
  options: RebuildOptions,
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

/** Copies all workspaces but one as they are; later events are folded into them as into any index. */
async function copyOthers(context: BuildContext, build: Begun, but: WorkspaceId): Promise<Position> {
  const { former, index, projection } = build
  const from = present(former, 'a build to copy from')
  const stored = await withWriter(context.index, (writer) => storedBuild(writer, projection, from))
  const audit = context.index.audit()
  try {
    const others = new Set((await audit.parts(from)).map(({ workspaceId }) => workspaceId))
    others.delete(but)
    for (const workspaceId of others) await audit.copy(from, index, workspaceId)
    return present(stored, 'a build that is kept').checkpoint
  } finally {
    await audit.close()
  }
}

/** Folds all builds to the log's head, in rounds, until little is left. */
async function catchUp(context: BuildContext, builds: readonly Begun[], options: RebuildOptions): Promise<Position> {
  const { onProgress = () => {}, eventsPerSecondMax, signal } = options
  let until: Position = 0
  let before = Number.POSITIVE_INFINITY
  for (let round = 0; round < roundsMax; round++) {
    const from = until
    until = await context.stream.head()
    if (until === from) return until
    const size = until - from
    const isLast = size >= before * shrinksTo
    before = size
    const startedAt = context.clock()
    const tell = (position: Position): void => onProgress({ phase: 'fold', position, from, until })
    const tasks = builds.map(({ projection, index, after }) => ({ projection, index, after, until }))
    await foldShares(context, context.index, tasks, { eventsPerSecondMax, signal, onProgress: tell })
    if (isLast || context.clock() - startedAt < shortRoundMs) return until
  }
  return until
}

/** Nominates all builds together, so that the projector catches up with them in one pass. */
const nominateAll = (
  { index: place }: BuildContext,
  builds: readonly Begun[],
  verdicts: readonly Verdict[],
  { keep = false }: RebuildOptions,
): Promise<void> =>
  withWriter(place, async (writer) => {
    for (const [at, { projection, index, former }] of builds.entries()) {
      if (verdicts[at]?.equal !== true) continue
      const keeps = keep ? former : undefined
      // Readers may already have left it for another build.
      if (keeps !== undefined) await changeRoster(writer, projection, keepOn(keeps))
      await changeRoster(writer, projection, nominate(index, keeps))
    }
  })

async function finish(
  context: BuildContext,
  build: Begun,
  verdict: Verdict,
  { keep = false }: RebuildOptions,
): Promise<Rebuilt> {
  const { projection, index, former, resumed, fold } = build
  const report = { projection, index, former, resumed, verdict }
  return withWriter(context.index, async (writer) => {
    if (!verdict.equal) {
      await discard(writer, projection, index)
      return { ...report, outcome: 'different' }
    }
    const outcome = await moveReaders(context, writer, fold, index)
    // In case a program of a version without `keeps` has moved the readers.
    if (keep && former !== undefined) await changeRoster(writer, projection, keepOn(former))
    return { ...report, outcome }
  })
}

/** None is begun where one of them must be refused. */
const beginAll = (
  context: BuildContext,
  projections: readonly Projection[],
  options: RebuildOptions,
): Promise<readonly Begun[]> =>
  withWriter(context.index, async (writer) => {
    const formers: Former[] = []
    for (const projection of projections) formers.push(await formerOf(context, writer, projection, options))
    const builds: Begun[] = []
    for (const former of formers) builds.push(await beginBuild(context, writer, former, options))
    return builds
  })

async function rebuildLocked(
  context: BuildContext,
  projections: readonly Projection[],
  options: RebuildOptions,
): Promise<readonly Rebuilt[]> {
  const { onProgress = () => {}, workspaceId, eventsPerSecondMax, signal } = options
  const builds = await beginAll(context, projections, options)
  const workspaces = workspaceId === undefined ? undefined : [workspaceId]
  const folded = { workspaces, eventsPerSecondMax, signal }
  if (workspaceId !== undefined) {
    for (const build of builds) {
      onProgress({ phase: 'copy', position: 0, from: 0, until: 0 })
      const until = await copyOthers(context, build, workspaceId)
      await foldShares(context, context.index, [{ ...build, until }], folded)
    }
  }
  const until = await catchUp(context, builds, options)
  const tell = (position: Position): void => onProgress({ phase: 'verify', position, from: 0, until })
  const verdicts = await verify(context, builds, { ...folded, onProgress: tell })
  await catchUp(context, builds, options)
  onProgress({ phase: 'move', position: until, from: 0, until })
  await nominateAll(context, builds, verdicts, options)
  const done: Rebuilt[] = []
  for (const [at, build] of builds.entries()) {
    done.push(await finish(context, build, present(verdicts[at], 'a verdict for each build'), options))
  }
  return done
}

async function lockAll(context: BuildContext, projections: readonly Projection[]) {
  const locks: { release(): Promise<void> }[] = []
  const release = async (): Promise<void> => {
    for (const lock of locks) await lock.release()
  }
  for (const { name } of projections) {
    const lock = await context.lock(name)
    if (lock !== undefined) {
      locks.push(lock)
      continue
    }
    await release()
    const hint = 'another rebuild of it is under way: wait for it, or stop it'
    throw new PermanentError({ operation: 'rebuild', subject: name, hint })
  }
  return { release }
}

/**
 * Folds new builds of these projections from the log, beside the live ones, by several workers; compares them with a second fold of the
 * log; and moves readers to each in one step. It may be killed at any moment: the next call continues where it was.
 */
export async function rebuild(
  context: BuildContext,
  projections: readonly Projection[],
  options: RebuildOptions = {},
): Promise<readonly Rebuilt[]> {
  const locks = await lockAll(context, projections)
  try {
    return await rebuildLocked(context, projections, options)
  } finally {
    await locks.release()
  }
}

/** What `rebuild` would do now. Nothing is written. */
export const planRebuild = (
  context: BuildContext,
  projections: readonly Projection[],
  options: RebuildOptions = {},
): Promise<readonly RebuildPlan[]> =>
  withWriter(context.index, async (writer) => {
    const head = await context.stream.head()
    const plans: RebuildPlan[] = []
    for (const projection of projections) {
      const { former: live } = await formerOf(context, writer, projection, options)
      const { index, resumes } = await findBuild(context, writer, projection, options)
      const from = resumes ? (await writer.checkpoint(index)).position : (options.from ?? 0)
      plans.push({ projection: projection.name, index, live, resumes, from, head })
    }
    return plans
  })
