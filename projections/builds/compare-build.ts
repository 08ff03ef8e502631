import type { Position } from '#src/events/envelope.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import type { Part } from '../index-audit.ts'
import { compareLater, compareParts, type Comparison, type Difference, type Later, type Sides } from './compare.ts'
import { createEnds, createQueue } from './expected-fold.ts'
import { freezeBoth } from './freeze-both.ts'
import { erasedAt, existingBuild, reachedIn, type VerifyTarget } from './verify-target.ts'

/**
 * The result for a workspace: how many entries were compared, and how many differ from the fold of the log. `position`: everything up to
 * here was compared; of what the index holds beyond it, some may have been.
 */
export type WorkspaceVerdict = Readonly<{
  workspaceId: WorkspaceId
  entries: number
  different: number
  position: Position
}>

/** How many differences are listed, with both sides. */
const namedMax = 20

const nameOf = ({ workspaceId, day }: Part): string => `${workspaceId}/${day}`

type Placed = Part & Readonly<{ position: Position }>

/** Parts in order of their positions, so that the expected fold only ever advances, even when no projector runs. */
async function byPosition({ indexed, index }: VerifyTarget, parts: readonly Part[]): Promise<readonly Placed[]> {
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
    /** How many more differences may be listed. */
    namedLeft: (): number => namedMax - differences.length,
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

/**
 * Whether a difference in a part counts. Meanwhile a plan may have changed or a day passed, so that expired data may be gone; or the
 * workspace may have been erased from the log before the fold reached the part's position. If the build itself was dropped meanwhile,
 * nothing counts, and that is reported instead.
 */
async function isStillTold(target: VerifyTarget, { workspaceId, day }: Part): Promise<boolean> {
  await existingBuild(target.writer, target.projection, target.index)
  const firstDay = await target.context.firstDays()
  const isSeen = day >= firstDay(workspaceId, target.projection)
  return isSeen && (await erasedAt(target, workspaceId)) <= target.expected.positionOf(workspaceId)
}

/** Compares both sides of a part, adds what counts, and releases them. */
async function compareFrozen(
  target: VerifyTarget,
  sides: Sides,
  tally: Tally,
  compare: () => Promise<Comparison>,
): Promise<void> {
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
async function compareRest(target: VerifyTarget, tally: Tally): Promise<void> {
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
    await compareFrozen(target, sides, tally, () => compareLater(sides, later, tally.namedLeft()))
  }
}

/** Compares all parts of a build with those of the fold. */
export async function compareBuild(target: VerifyTarget) {
  const { indexed, expectedParts, index, takes } = target
  const seen = new Set<string>()
  const tally = createTally()
  const compare = async (parts: readonly Part[]): Promise<void> => {
    const left = parts.filter(
      (part) => takes(part.workspaceId) && target.horizon.isSeen(part) && !seen.has(nameOf(part)),
    )
    const sorted = await byPosition(target, left)
    const queue = createQueue(sorted)
    for (const placed of sorted) {
      queue.take(placed)
      const part = { workspaceId: placed.workspaceId, day: placed.day }
      seen.add(nameOf(part))
      const sides = await freezeBoth(target, part, queue.beside)
      if (sides !== undefined) await compareFrozen(target, sides, tally, () => compareParts(sides, tally.namedLeft()))
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
