import { present } from '#src/lib/assert.ts'
import { PermanentError } from '#src/lib/failure.ts'
import type { Position } from '#src/events/envelope.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import { storedBuild, type IndexName, type Roster } from '../index-store.ts'
import type { Projection } from '../projection.ts'
import { changeRoster, followedAs, keepOn, movesTo, supersede, type Change } from '../rosters/roster.ts'
import {
  beginBuilds,
  discard,
  findBuild,
  formerOf,
  refuseCopy,
  refuseLossOfOthers,
  refuseMoving,
  type BeginOptions,
  type Begun,
} from './begin-build.ts'
import { withAudit, withWriter, type BuildContext } from './build-place.ts'
import { foldShares } from './fold-shares.ts'
import { moveReaders, refuseBesideLater, type Moved } from './move-readers.ts'
import { verify, type Verdict } from './verify.ts'

export type RebuildOptions = BeginOptions &
  Readonly<{
    /** Keeps the build that readers leave until it is dropped explicitly, instead of for 24 hours. */
    keep?: boolean
    eventsPerSecondMax?: number
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

/** The most rounds of catching up before readers are moved. Each is shorter than the one before. */
const roundsMax = 20
/**
 * The last round is one that took no longer than this: what has come meanwhile is left to the projector. Or one that had about as much to fold as
 * the one before: on a busy machine workers take longer than this to start, and each further round would have as much again.
 */
const shortRoundMs = 2_000
const shrinksTo = 0.9

/** Copies all workspaces but one as they are; later events are folded into them as into any index. */
async function copyOthers(context: BuildContext, build: Begun, but: WorkspaceId): Promise<Position> {
  const { former, index, projection } = build
  const from = present(former, 'a build to copy from')
  const stored = await withWriter(context.index, (writer) => storedBuild(writer, projection, from))
  await withAudit(context.index, async (audit) => {
    const others = new Set((await audit.parts(from)).map(({ workspaceId }) => workspaceId))
    others.delete(but)
    for (const workspaceId of others) await audit.copy(from, index, workspaceId)
  })
  // It may have lost a day before that was copied.
  await refuseLossOfOthers(context, { projection, index: from }, but)
  return present(stored, 'a build that is kept').checkpoint
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
    const tasks = builds.map((build) => ({ ...build, until }))
    await foldShares(context, context.index, tasks, { eventsPerSecondMax, signal, onProgress: tell })
    if (isLast || context.clock() - startedAt < shortRoundMs) return until
  }
  return until
}

/** Throws PermanentError if readers have left the build that the others were copied from, or are about to: they may go back for what is wrong in it. */
function refuseLeft({ workspaceId }: RebuildOptions, { former, index, fold }: Begun, roster: Roster): void {
  if (workspaceId === undefined || former === undefined) return
  const { live } = roster
  if (live !== former)
    throw refuseCopy(workspaceId, former, `which readers have left for ${live} meanwhile: begin again`)
  refuseMoving(workspaceId, former, movesTo(roster, fold.version, index))
}

/** Nominates all builds together, so that the projector catches up with them in one pass. */
const nominateAll = (
  context: BuildContext,
  builds: readonly Begun[],
  verdicts: readonly Verdict[],
  options: RebuildOptions,
): Promise<void> =>
  withWriter(context.index, async (writer) => {
    // One may have been started while these were folded. They stay as they are, for the next call to go on with.
    for (const build of builds) {
      await refuseBesideLater(context, writer, build.fold)
      refuseLeft(options, build, await writer.roster(build.projection))
    }
    for (const [at, build] of builds.entries()) {
      if (verdicts[at]?.equal !== true) continue
      const { projection, index, former } = build
      const keeps = options.keep === true ? former : undefined
      // Readers may already have left it for another build.
      if (keeps !== undefined) await changeRoster(writer, projection, keepOn(keeps))
      const nominated: Change = (roster) => (refuseLeft(options, build, roster), supersede(index, keeps)(roster))
      await changeRoster(writer, projection, nominated)
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

/** Removes copies that readers are not to move to: each call makes them anew, and they would hold their room, and the cut of the log. */
const discardCopies = (context: BuildContext, builds: readonly Begun[]): Promise<void> =>
  withWriter(context.index, async (writer) => {
    for (const { projection, index } of builds)
      if (followedAs(await writer.roster(projection), index) === 'building') await discard(writer, projection, index)
  })

async function rebuildAll(
  context: BuildContext,
  builds: readonly Begun[],
  options: RebuildOptions,
): Promise<readonly Rebuilt[]> {
  const { onProgress = () => {}, workspaceId, eventsPerSecondMax, signal } = options
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

async function rebuildLocked(
  context: BuildContext,
  projections: readonly Projection[],
  options: RebuildOptions,
): Promise<readonly Rebuilt[]> {
  const builds = await beginBuilds(context, projections, options)
  try {
    return await rebuildAll(context, builds, options)
  } catch (error) {
    // If that fails too, the next rebuild does it.
    if (options.workspaceId !== undefined) await discardCopies(context, builds).catch(() => undefined)
    throw error
  }
}

async function lockAll(context: BuildContext, projections: readonly Projection[]) {
  const locks: { release(): Promise<void> }[] = []
  const release = async (): Promise<void> => {
    for (const lock of locks) await lock.release()
  }
  try {
    for (const { name } of projections) {
      const lock = await context.lock(name)
      const hint = 'another rebuild of it is under way: wait for it, or stop it'
      if (lock === undefined) throw new PermanentError({ operation: 'rebuild', subject: name, hint })
      locks.push(lock)
    }
  } catch (error) {
    await release()
    throw error
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
      const live = await formerOf(context, writer, projection, options)
      const { index, resumes } = await findBuild(context, writer, projection, options)
      const from = resumes ? (await writer.checkpoint(index)).position : (options.from ?? 0)
      plans.push({ projection: projection.name, index, live, resumes, from, head })
    }
    return plans
  })
