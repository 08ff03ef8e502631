import { present } from '#src/lib/assert.ts'
import { TransientError } from '#src/lib/failure.ts'
import type { Position, RecordedEvent } from '#src/events/envelope.ts'
import { buildNumber } from '../rosters/build-name.ts'
import { chooseBuild } from '../rosters/choose-build.ts'
import { dueBuild, holdsAllOf } from '../rosters/due-build.ts'
import { changeRoster, claim, foldedBeside, followedAs, forget, isGone, keptMs, promoteTo } from '../rosters/roster.ts'
import { tidied } from '../rosters/tidied.ts'
import {
  LostRecordError,
  noRoster,
  storedBuild,
  type IndexName,
  type IndexWriter,
  type Reached,
  type Roster,
  type StoredBuild,
} from '../index-store.ts'
import type { Projection } from '../projection.ts'
import type { Step } from './ahead.ts'
import { createBuildFacts } from './build-facts.ts'
import { createDeadLetters, type DeadLetters } from './dead-letters.ts'
import type { Folding } from './folding.ts'
import { openLane, type Lane, type LeftOut } from './lane.ts'
import { createOpenLanes, type OpenLanes, type ProjectionFailure } from './open-lanes.ts'

/** A build that is folded beside the one that readers use; `moved`: it has caught up, and readers have moved to it. */
export type Beside = Readonly<{ projection: string; index: IndexName; live: IndexName; moved: boolean }>

type LanesOptions = Folding &
  Readonly<{
    writer: IndexWriter
    onFailure: (failure: ProjectionFailure) => void
    onRecovered?: (projection: string) => void
    onDeadLetter?: (letter: LeftOut) => void
    onBeside?: (beside: Beside) => void
  }>

/**
 * The lanes of a projector: for each projection, one for the live build and one for each other build of its roster that is folded. The
 * caller must not run two of these methods at once.
 */
export type Lanes = Pick<OpenLanes, 'groups' | 'goOn' | 'failure'> &
  Readonly<{
    /** Whether readers use what the lane folds, as far as is known. */
    isLive(lane: Lane): boolean
    /** Their builds as they were stored before they were opened, without new ones. */
    storedBefore(): readonly StoredBuild[]
    /** Opens each projection's build of this log; a new one becomes a candidate, or the live one where readers have none. */
    openAll(signal: AbortSignal): Promise<void>
    /** Applies the current rosters: opens and closes lanes, drops builds. True when a lane was opened. */
    refresh(signal: AbortSignal): Promise<boolean>
    /** A lane that fails keeps its position. */
    fold(lanes: readonly Lane[], events: readonly RecordedEvent[], signal: AbortSignal): Promise<void>
    /** The same for events ahead of the lanes' position, of workspaces that need not wait (ahead.ts). */
    foldAhead(lanes: readonly Lane[], step: Step, signal: AbortSignal): Promise<void>
    /** Of all lanes at once, which may be one request. */
    heartbeat(signal: AbortSignal): Promise<void>
    /** Moves readers to each candidate that has reached the live build's position, or `head` if the live build is not folded. */
    promoteDue(head: Position, signal: AbortSignal): Promise<void>
  }>

/** `rosters`: as they were last applied. */
type Run = Readonly<{
  options: LanesOptions
  open: OpenLanes
  facts: ReturnType<typeof createBuildFacts>
  deadLetters: DeadLetters
  rosters: Map<string, Roster>
}>

/** Revisions only grow. A lower one is of a record that was removed, or of an older one put back: to follow it would end folds in silence. */
function refuseLoss({ name }: Projection, known: Roster | undefined, found: Roster): void {
  if (known === undefined || found.revision >= known.revision) return
  const hint =
    'the record of its builds was removed, or an older one put back: what is not in it is folded anew from the log'
  throw new LostRecordError({ operation: 'fold', subject: name, hint })
}

/** Asks for all rosters at once, which may be one request. One that is asked for again, as after a failure, is read anew. */
async function askRosters({ projections, writer }: LanesOptions) {
  const asked = new Map(projections.map(({ name }) => [name, writer.roster(name)]))
  await Promise.allSettled(asked.values())
  return ({ name }: Projection): Promise<Roster> => {
    const roster = asked.get(name) ?? writer.roster(name)
    asked.delete(name)
    return roster
  }
}

/** False when it is already open. */
async function openBuild({ options, open, deadLetters, rosters }: Run, projection: Projection, index: IndexName) {
  if (open.of(index) !== undefined) return false
  const roster = (): Roster => rosters.get(projection.name) ?? noRoster
  const mayLeaveOutMost = (): boolean => followedAs(roster(), index) !== 'candidate'
  const live = async (): Promise<IndexName | undefined> => roster().live
  const { epoch } = options.stream
  open.add(await openLane(projection, index, { ...options, epoch, deadLetters, mayLeaveOutMost, live }))
  return true
}

/** The roster without builds that are of no more use. */
async function tidy({ options: { writer }, facts }: Run, { name }: Projection, found: Roster): Promise<Roster> {
  const change = tidied(await facts.of(name, found))
  // Decided again by the roster that it replaces: somebody may have kept a build meanwhile, or gone back to it.
  return change(found) === undefined ? found : (await changeRoster(writer, name, change)).roster
}

/** What keeps a build from being removed may last for hours, as a snapshot of it: it is told, and nothing that is folded waits for that. */
async function removeDropped({ options, open }: Run, { name }: Projection, roster: Roster): Promise<Roster> {
  const { writer } = options
  let now = roster
  for (const { index } of roster.followed.filter(({ as }) => as === 'dropped')) {
    try {
      await writer.drop(index)
    } catch (error) {
      if (!(error instanceof TransientError)) throw error
      open.failed(name, error)
      continue
    }
    now = (await changeRoster(writer, name, forget(index))).roster
  }
  return now
}

/**
 * Drops builds that another process has removed: files that are still open here would keep their room on the disk. Names of builds are never
 * used again, so nothing else can be dropped by mistake. Builds of open lanes are looked at too, not only those of the roster known here: a build
 * may have been removed just before its lane was opened, which created it again, or while this process changed the roster.
 */
async function letGoOfRemoved(
  { options: { writer }, rosters, open }: Run,
  { name }: Projection,
  { found, roster }: Readonly<{ found: Roster; roster: Roster }>,
): Promise<void> {
  const known = rosters.get(name)
  const followed = known?.followed.filter(({ as }) => as !== 'gone').map(({ index }) => index) ?? []
  const folded = open.all().filter(({ projection }) => projection === name)
  const ours = new Set([...followed, ...folded.map(({ index }) => index)])
  if (known?.live !== undefined) ours.add(known.live)
  for (const index of ours) {
    const isRemovedHere = followedAs(found, index) === 'dropped'
    if (!isRemovedHere && followedAs(roster, index) === undefined && isGone(roster, index)) await writer.drop(index)
  }
}

/** Applies a roster, as it was found now. True when it has opened a lane. */
async function applyRoster(run: Run, projection: Projection, found: Roster): Promise<boolean> {
  const { open, facts, rosters } = run
  const { name } = projection
  refuseLoss(projection, rosters.get(name), found)
  const roster = await removeDropped(run, projection, await tidy(run, projection, found))
  await letGoOfRemoved(run, projection, { found, roster })
  rosters.set(name, roster)
  const wanted = [...(roster.live === undefined ? [] : [roster.live]), ...foldedBeside(roster)]
  open.keepOnly(name, wanted)
  let opened = false
  for (const index of wanted) {
    if (buildNumber(projection, index) === undefined || open.isStopped(index)) continue
    if (await facts.isOfThisLog(index)) opened = (await openBuild(run, projection, index)) || opened
  }
  return opened
}

/** Opens the projection's build of this log, and the others of its roster. */
async function openChosen(run: Run, projection: Projection, signal: AbortSignal): Promise<void> {
  const { writer, stream, onBeside } = run.options
  const { name } = projection
  while (!signal.aborted) {
    const index = await chooseBuild(writer, projection, stream.epoch)
    // Created before the roster names it: readers must never be sent to a missing build.
    await openBuild(run, projection, index)
    await changeRoster(writer, name, claim(index))
    await applyRoster(run, projection, await writer.roster(name))
    const roster = present(run.rosters.get(name), 'what was applied')
    // Unless a rebuild has taken the name meanwhile, or it had seen what the log has lost.
    if (roster.live === index) return
    if (followedAs(roster, index) !== 'candidate') continue
    if (roster.live !== undefined) onBeside?.({ projection: name, index, live: roster.live, moved: false })
    return
  }
}

/** Moves readers to the candidate that is due, if there is one. `begunAt`: the log's head when this process first considered that. */
async function promote(
  { options, open, rosters }: Run,
  name: string,
  at: Readonly<{ head: Position; begunAt: Position }>,
) {
  const { writer, stream, clock, onBeside } = options
  const reached = (index: IndexName): Reached | undefined => {
    const lane = open.of(index)
    return lane && { position: lane.position(), ahead: lane.ahead() }
  }
  const roster = rosters.get(name)
  const index = roster && dueBuild(roster, { ...at, reached })
  const own = index === undefined ? undefined : reached(index)
  if (roster === undefined || index === undefined || own === undefined) return
  const { live } = roster
  if (!holdsAllOf(own, await storedBuild(writer, name, live), stream.epoch)) return
  const changed = await changeRoster(writer, name, promoteTo(index, live, clock() + keptMs))
  rosters.set(name, changed.roster)
  if (live !== undefined && changed.roster.live === index) onBeside?.({ projection: name, index, live, moved: true })
}

export function createLanes(options: LanesOptions): Lanes {
  const { stream, clock, decode } = options
  const open = createOpenLanes(options)
  const deadLetters = createDeadLetters({ stream, clock })
  const rosters = new Map<string, Roster>()
  const run: Run = { options, open, facts: createBuildFacts(options), deadLetters, rosters }
  /** An earlier projector may have written up to there unreported. */
  let begunAt: Position | undefined
  return {
    groups: open.groups,
    goOn: open.goOn,
    failure: open.failure,
    isLive: ({ projection, index }) => rosters.get(projection)?.live === index,
    storedBefore: () => open.all().flatMap(({ storedBefore }) => storedBefore ?? []),
    async openAll(signal) {
      await open.eachProjection((projection) => openChosen(run, projection, signal), signal)
      open.begin()
    },
    async refresh(signal) {
      const rosterOf = await askRosters(options)
      let opened = false
      const task = async (projection: Projection): Promise<void> => {
        opened = (await applyRoster(run, projection, await rosterOf(projection))) || opened
      }
      await open.eachProjection(task, signal)
      return opened
    },
    async fold(lanes, events, signal) {
      const decoded = events.map(decode)
      const last = events.at(-1)?.position ?? 0
      await open.each(lanes, (lane) => lane.fold(decoded, last), signal)
    },
    async foldAhead(lanes, { light, ahead }, signal) {
      const decoded = light.map(decode)
      await open.each(lanes, (lane) => lane.foldAhead(decoded, ahead), signal)
    },
    async heartbeat(signal) {
      const head = await stream.head()
      if (signal.aborted) return
      await open.together((lane) => lane.heartbeat(head))
      open.tellRecovered()
    },
    promoteDue(head, signal) {
      const at = { head, begunAt: (begunAt ??= head) }
      return open.eachProjection(({ name }) => promote(run, name, at), signal)
    },
  }
}
