import { PermanentError } from '#src/lib/failure.ts'
import { beforeAll, type Position } from '#src/events/envelope.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import type { FirstEvent } from '#streams/stream.ts'
import { createDeadLetters } from '../folding/dead-letters.ts'
import type { BuildTask } from '../folding/fold-share.ts'
import { openLane } from '../folding/lane.ts'
import { withSeenEvents } from '../folding/seen-events.ts'
import type { IndexAudit } from '../index-audit.ts'
import type { IndexName, IndexWriter } from '../index-store.ts'
import { collectionsOf } from '../projection.ts'
import type { FirstDay } from '../retention/first-days.ts'
import { projectionNamed, withWriter, type BuildContext, type BuildPlace } from './build-place.ts'
import { compareBuild, type WorkspaceVerdict } from './compare-build.ts'
import type { Difference } from './compare.ts'
import { createDigestsAhead } from './digests-ahead.ts'
import { createExpectedFold } from './expected-fold.ts'
import { foldShares } from './fold-shares.ts'
import { createHorizon } from './horizon.ts'
import { refuseOtherVersions } from './own-versions.ts'
import { existingBuild, type VerifyTarget } from './verify-target.ts'

type VerifyOptions = Readonly<{
  /** Only these; undefined: all. */
  workspaces?: readonly WorkspaceId[] | undefined
  onProgress?: (position: Position) => void
  eventsPerSecondMax?: number | undefined
  signal?: AbortSignal | undefined
}>

export type Verdict = Readonly<{
  projection: string
  index: IndexName
  /** The furthest position up to which the log was folded to compare. Each workspace was compared at its own position, at most this. */
  position: Position
  equal: boolean
  workspaces: readonly WorkspaceVerdict[]
  /** The first differences. */
  differences: readonly Difference[]
  /** If the log was cut: the day of receipt from which each collection was compared. */
  comparedFrom?: Readonly<Record<string, string>>
}>

type Builds = readonly Readonly<{ projection: string; index: IndexName }>[]

/** The live builds of these projections. */
export const liveBuilds = (context: BuildContext, names: readonly string[]): Promise<Builds> =>
  withWriter(context.index, async (writer) => {
    const found: { projection: string; index: IndexName }[] = []
    for (const projection of names) {
      const { live: index } = await writer.roster(projection)
      if (index !== undefined) found.push({ projection, index })
    }
    return found
  })

/** The folds to compare with, one for each build. If the log was cut beyond a build's own beginning, its fold begins with what is left. */
async function tasksOf({ stream }: BuildContext, writer: IndexWriter, targets: Builds): Promise<readonly BuildTask[]> {
  const first = (await stream.first())?.position ?? beforeAll
  return Promise.all(
    targets.map(async ({ projection, index }) => {
      const { after, checkpoint } = await existingBuild(writer, projection, index)
      return { projection, index, after: after < first ? beforeAll : after, until: checkpoint }
    }),
  )
}

/** What all builds of a verification share: the log's beginning, the plans, and where both sides are read. */
type Common = Pick<VerifyTarget, 'context' | 'writer' | 'scratch' | 'indexed' | 'ahead' | 'expectedParts' | 'takes'> &
  Readonly<{
    scratchWriter: IndexWriter
    /** What the parts of the fold hold before it goes on (horizon.ts). */
    earlierParts: IndexAudit
    /** Where the log begins now: later than what was folded, if it was cut meanwhile. */
    first: FirstEvent | undefined
    firstDay: FirstDay
  }>

async function verifyBuild(common: Common, { projection, index, after }: BuildTask): Promise<Verdict> {
  const { context, scratchWriter, takes, earlierParts, first, firstDay } = common
  const fold = projectionNamed(context, projection)
  if (fold === undefined) throw new PermanentError({ operation: 'verify', subject: projection })
  const { stream, clock } = context
  const deadLetters = createDeadLetters({ stream, clock, decides: false })
  const laneOptions = { ...context, writer: scratchWriter, epoch: stream.epoch, deadLetters }
  const lane = await openLane(fold, index, laneOptions, after)
  const expected = createExpectedFold(context, lane, takes)
  const horizon = createHorizon({ projection: fold, index, first, firstDay, expected: earlierParts })
  const collections = collectionsOf(withSeenEvents(fold)).map(({ name }) => name)
  const found = await compareBuild({ ...common, projection, collections, index, expected, horizon })
  const equal = found.workspaces.every(({ different }) => different === 0)
  const { comparedFrom } = horizon
  const from = comparedFrom === undefined ? {} : { comparedFrom }
  return { projection, index, position: expected.position(), equal, ...found, ...from }
}

async function verifyIn(
  context: BuildContext,
  scratch: BuildPlace,
  targets: Builds,
  options: VerifyOptions,
): Promise<readonly Verdict[]> {
  const wanted = options.workspaces && new Set(options.workspaces)
  const takes = (workspaceId: WorkspaceId): boolean => wanted?.has(workspaceId) ?? true
  const writer = context.index.writer()
  const [indexed, expectedParts, earlierParts] = [context.index.audit(), scratch.audit(), scratch.audit()]
  // Not where one worker has to do all, nor where nobody waits.
  const isAlone = context.workers === 1 || options.eventsPerSecondMax !== undefined
  const indexes = targets.map(({ index }) => index)
  const ahead = createDigestsAhead(isAlone ? {} : context.index, indexed, indexes, takes)
  let scratchWriter: IndexWriter | undefined
  try {
    const builds = await tasksOf(context, writer, targets)
    await foldShares(context, scratch, builds, { ...options, compares: true })
    const first = await context.stream.first()
    const firstDay = await context.firstDays()
    scratchWriter = scratch.writer()
    const sides = { scratch, scratchWriter, indexed, ahead, expectedParts, earlierParts }
    const verdicts: Verdict[] = []
    for (const build of builds) {
      verdicts.push(await verifyBuild({ context, writer, ...sides, takes, first, firstDay }, build))
    }
    return verdicts
  } finally {
    ahead.end()
    const parts = [indexed, expectedParts, earlierParts]
    await Promise.all([...parts.map((audit) => audit.close()), writer.close(), scratchWriter?.close()])
  }
}

/**
 * Folds the log again, beside the index, and compares the two part by part, each at one position: every entry, and everything that
 * searches go by. The index may be written meanwhile: each part is frozen while it is compared. Throws PermanentError for a build of another
 * version.
 */
export async function verify(
  context: BuildContext,
  targets: Builds,
  options: VerifyOptions = {},
): Promise<readonly Verdict[]> {
  refuseOtherVersions(context, targets)
  const scratch = await context.scratch()
  try {
    return await verifyIn(context, scratch, targets, options)
  } finally {
    await scratch.remove()
  }
}
