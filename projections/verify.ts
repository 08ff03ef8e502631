import { PermanentError, TransientError } from '#src/lib/failure.ts'
import { beforeAll, type Position } from '#src/events/envelope.ts'
import { erasureSubject } from '#src/events/erasure.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import type { FirstEvent } from '#streams/stream.ts'
import { projectionNamed, withWriter, type BuildContext, type BuildPlace } from './builds/build-place.ts'
import { createDigestsAhead, type DigestsAhead } from './builds/digests-ahead.ts'
import { compareLater, compareParts, type Comparison, type Difference, type Later } from './builds/compare.ts'
import { createEnds, createExpectedFold, createQueue, type ExpectedFold, type Limit } from './builds/expected-fold.ts'
import { foldShares } from './builds/fold-shares.ts'
import { createHorizon, type Horizon } from './builds/horizon.ts'
import { refuseOtherVersions } from './builds/own-versions.ts'
import { createDeadLetters } from './folding/dead-letters.ts'
import type { BuildTask } from './folding/fold-share.ts'
import { openLane } from './folding/lane.ts'
import { withSeenEvents } from './folding/seen-events.ts'
import type { FrozenPart, IndexAudit, Part } from './index-audit.ts'
import { reachedBy, storedBuild, type IndexName, type IndexWriter, type StoredBuild } from './index-store.ts'
import { collectionsOf } from './projection.ts'
import type { FirstDay } from './retention/first-days.ts'

type VerifyOptions = Readonly<{
  /** Only these; undefined: all. */
  workspaces?: readonly WorkspaceId[] | undefined
  onProgress?: (position: Position) => void
  eventsPerSecondMax?: number | undefined
  signal?: AbortSignal | undefined
}>

/**
 * The result for a workspace: how many entries were compared, and how many differ from the fold of the log. `position`: everything up to
 * here was compared; of what the index holds beyond it, some may have been.
 */
type WorkspaceVerdict = Readonly<{
  workspaceId: WorkspaceId
  entries: number
  different: number
  position: Position
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

/** How many differences are listed, with both sides. */
const namedMax = 20
const patienceMs = 30_000
const pollMs = 100

async function existingBuild(writer: IndexWriter, projection: string, index: IndexName): Promise<StoredBuild> {
  const found = await storedBuild(writer, projection, index)
  if (found === undefined)
    throw new PermanentError({ operation: 'verify', subject: index, hint: 'there is no such build' })
  return found
}

type Target = Readonly<{
  context: BuildContext
  projection: string
  /** The names of its collections. */
  collections: readonly string[]
  index: IndexName
  writer: IndexWriter
  scratch: BuildPlace
  indexed: IndexAudit
  ahead: DigestsAhead
  expectedParts: IndexAudit
  expected: ExpectedFold
  takes: (workspaceId: WorkspaceId) => boolean
  horizon: Horizon
}>

/** The position that the index has reached for each workspace. */
async function reachedIn({ context, writer, projection, index }: Target): Promise<Limit> {
  const build = await existingBuild(writer, projection, index)
  const now = context.clock()
  return (workspaceId) => reachedBy(build, workspaceId, now)
}

/** Waits until the index has reached the position; gives up when it makes no progress. */
async function awaitReached(target: Target, part: Part, position: Position): Promise<void> {
  const { clock, timers } = target.context
  let [best, until] = [-1, 0]
  for (;;) {
    const reached = (await reachedIn(target))(part.workspaceId)
    if (reached >= position) return
    if (reached > best) [best, until] = [reached, clock() + patienceMs]
    if (clock() > until) {
      const hint = 'its projector does not get on: see throughline status'
      throw new TransientError({ operation: 'verify', subject: `${target.index} at position ${position}`, hint })
    }
    await timers.pause(pollMs)
  }
}

/** Whether the index should hold anything of a part, at the position that it has reached for the part's workspace. */
async function isDue({ collections, expectedParts, index }: Target, part: Part, reached: Position): Promise<boolean> {
  const expected = await expectedParts.freeze(index, part)
  try {
    for (const name of collections) {
      for await (const { created, position } of expected.entries(name))
        if ((created ?? position) <= reached) return true
    }
    return false
  } finally {
    await expected.release()
  }
}

/** The position of the last erasure of a workspace; `beforeAll` where it never was erased. */
async function erasedAt({ context }: Target, workspaceId: WorkspaceId): Promise<Position> {
  return (await context.stream.last(erasureSubject(workspaceId)))?.position ?? beforeAll
}

/** Computes the digest of the expected part in another worker, if there is one, while this one digests the indexed part. */
async function freezeExpected({ context, scratch, expectedParts, index }: Target, part: Part): Promise<FrozenPart> {
  const frozen = await expectedParts.freeze(index, part)
  const { digests } = scratch
  if (digests === undefined || context.workers === 1) return frozen
  return { ...frozen, digests: async () => (await digests(index, part)).digests }
}

/** With the digests that were made ahead, if they were. */
function withAhead({ ahead, index }: Target, part: Part, frozen: FrozenPart): FrozenPart {
  if (!frozen.exact) return frozen
  const digests = async () => (await ahead.take(index, part, frozen.position)) ?? (await frozen.digests())
  return { ...frozen, digests }
}

/**
 * Freezes a part and advances the expected fold to the part's position. A part that is behind the fold of its workspace is right only if
 * the index has reached that position without changing the part. Undefined for a part that need not exist yet, and for one of a workspace
 * that was erased from the log while the index has not reached the erasure: it may hold all of it, some of it or nothing.
 */
async function freezeBoth(target: Target, part: Part, beside: (limit: Limit) => Limit) {
  const { indexed, expected, index } = target
  const { workspaceId } = part
  for (;;) {
    const at = expected.positionOf(workspaceId)
    const limit = await reachedIn(target)
    const reached = limit(workspaceId)
    const frozen = await indexed.freeze(index, part)
    const erased = await erasedAt(target, workspaceId)
    if (erased > Math.max(at, frozen.position)) {
      await frozen.release()
      if (!frozen.exact || (await reachedIn(target))(workspaceId) < erased) return undefined
      await expected.foldTo(workspaceId, erased, beside(limit))
      continue
    }
    if (frozen.position < at && reached < at) {
      await frozen.release()
      // The fold is beyond the reported position of the index: another part of the workspace was beyond it too.
      if (frozen.position === beforeAll && !(await isDue(target, part, reached))) return undefined
      await awaitReached(target, part, at)
      continue
    }
    try {
      await expected.foldTo(workspaceId, frozen.position, beside(limit))
      const expectedPart = await freezeExpected(target, part)
      return { part, indexed: withAhead(target, part, frozen), expected: expectedPart, horizon: target.horizon }
    } catch (error) {
      await frozen.release()
      throw error
    }
  }
}

const nameOf = ({ workspaceId, day }: Part): string => `${workspaceId}/${day}`

type Placed = Part & Readonly<{ position: Position }>

/** Parts in order of their positions, so that the expected fold only ever advances, even when no projector runs. */
async function inOrder({ indexed, index }: Target, parts: readonly Part[]): Promise<readonly Placed[]> {
  const placed: Placed[] = []
  for (const part of parts) {
    const frozen = await indexed.freeze(index, part)
    placed.push({ ...part, position: frozen.position })
    await frozen.release()
  }
  return placed.sort((a, b) => a.position - b.position)
}

/** What was found so far, over all parts. */
function createTally() {
  const workspaces = new Map<WorkspaceId, Omit<WorkspaceVerdict, 'workspaceId'>>()
  const differences: Difference[] = []
  const later: Later[] = []
  return {
    later,
    namedMax: (): number => namedMax - differences.length,
    add({ workspaceId }: Part, found: Comparison, at: Position): void {
      const { entries, different, position } = workspaces.get(workspaceId) ?? { entries: 0, different: 0, position: at }
      workspaces.set(workspaceId, {
        entries: entries + found.entries,
        different: different + found.different,
        // Each part at its own position: so everything was compared up to the lowest of these.
        position: Math.min(position, at),
      })
      differences.push(...found.differences)
      // One by one: there may be more of them than a call can take as arguments.
      for (const one of found.later) later.push(one)
    },
    value: () => ({
      workspaces: [...workspaces].map(([workspaceId, verdict]) => ({ workspaceId, ...verdict })),
      differences,
    }),
  }
}
type Tally = ReturnType<typeof createTally>

type Sides = Exclude<Awaited<ReturnType<typeof freezeBoth>>, undefined>

/**
 * Whether a difference in a part counts. Meanwhile a plan may have changed or a day passed, so that expired data may be gone; or the
 * workspace may have been erased from the log before the fold reached the part's position. If the build itself was dropped meanwhile,
 * nothing counts, and that is reported instead.
 */
async function isStillTold(target: Target, { workspaceId, day }: Part): Promise<boolean> {
  await existingBuild(target.writer, target.projection, target.index)
  const firstDay = await target.context.firstDays()
  const isSeen = day >= firstDay(workspaceId, target.projection)
  return isSeen && (await erasedAt(target, workspaceId)) <= target.expected.positionOf(workspaceId)
}

async function compared(target: Target, sides: Sides, tally: Tally, compare: () => Promise<Comparison>): Promise<void> {
  try {
    const found = await compare()
    const at = target.expected.positionOf(sides.part.workspaceId)
    if (found.different === 0 || (await isStillTold(target, sides.part))) tally.add(sides.part, found, at)
  } finally {
    await sides.expected.release()
    await sides.indexed.release()
  }
}

/** Entries without a position are judged last. */
const orderOf = ({ position = Number.MAX_SAFE_INTEGER }: Later): number => position

/**
 * Judges entries that could not be judged at their part's position: the expected fold advances from one entry's position to the next
 * one's, and finally to the last position that the index may have folded.
 */
async function compareRest(target: Target, tally: Tally): Promise<void> {
  const { context, indexed, expectedParts, expected, index } = target
  const rest: Later[] = []
  for (const later of tally.later.splice(0)) {
    // Erased since it was compared.
    if ((await erasedAt(target, later.workspaceId)) <= expected.positionOf(later.workspaceId)) rest.push(later)
  }
  const head = await context.stream.head()
  const sorted = rest.toSorted((a, b) => orderOf(a) - orderOf(b))
  const queue = createQueue(sorted)
  const reached = await reachedIn(target)
  const ends = createEnds(head, queue.beside(reached))
  // Entries that are judged at the end share one read of the rest of the log.
  const limit = queue.beside(reached, ends.of)
  for (const later of Map.groupBy(sorted, (one) => `${orderOf(one)} ${nameOf(one)}`).values()) {
    const [{ workspaceId, day, position }] = later as [Later]
    const to = (): Position => position ?? ends.of(workspaceId)
    // An entry beyond the head of the log differs from the log.
    if (to() <= head) await ends.within(() => expected.foldTo(workspaceId, to(), limit))
    // Only now is the index known to have the workspace up to this position.
    for (const one of later) queue.take(one)
    const part = { workspaceId, day }
    const sides = {
      part,
      indexed: await indexed.freeze(index, part),
      expected: await expectedParts.freeze(index, part),
      horizon: target.horizon,
    }
    await compared(target, sides, tally, () => compareLater(sides, later, tally.namedMax()))
  }
}

async function compareAll(target: Target) {
  const { indexed, expectedParts, index, takes } = target
  const seen = new Set<string>()
  const tally = createTally()
  const compare = async (parts: readonly Part[]): Promise<void> => {
    const left = parts.filter(
      (part) => takes(part.workspaceId) && target.horizon.isSeen(part) && !seen.has(nameOf(part)),
    )
    const sorted = await inOrder(target, left)
    const queue = createQueue(sorted)
    for (const placed of sorted) {
      queue.take(placed)
      const part = { workspaceId: placed.workspaceId, day: placed.day }
      seen.add(nameOf(part))
      const sides = await freezeBoth(target, part, queue.beside)
      if (sides !== undefined) await compared(target, sides, tally, () => compareParts(sides, tally.namedMax()))
    }
  }
  const held = await indexed.hold(index)
  try {
    await compare(await indexed.parts(index))
    // Parts that the log has, and the index has not.
    await compare(await expectedParts.parts(index))
    await compareRest(target, tally)
  } finally {
    await held.release()
  }
  return tally.value()
}

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
  const stored = await Promise.all(targets.map(({ projection, index }) => existingBuild(writer, projection, index)))
  return targets.map(({ projection, index }, at) => {
    const { after = 0, checkpoint = 0 } = stored[at] ?? {}
    return { projection, index, after: after < first ? beforeAll : after, until: checkpoint }
  })
}

/** What all builds of a verification share: the log's beginning, the plans, and where both sides are read. */
type Common = Pick<Target, 'context' | 'writer' | 'scratch' | 'indexed' | 'ahead' | 'expectedParts' | 'takes'> &
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
  const found = await compareAll({ ...common, projection, collections, index, expected, horizon })
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
