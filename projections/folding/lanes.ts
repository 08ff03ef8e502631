import { present } from '#src/lib/assert.ts'
import { TransientError } from '#src/lib/failure.ts'
import type { Position, RecordedEvent } from '#src/events/envelope.ts'
import { buildNumber } from '../builds/build-name.ts'
import { chooseBuild } from '../builds/choose-build.ts'
import { changeRoster, claim, foldedBeside, followedAs, forget, isGone, promoteTo } from '../builds/roster.ts'
import { tidied } from '../builds/tidied.ts'
import {
  foldedBy,
  LostRecordError,
  reachedFor,
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
import { createDeadLetters } from './dead-letters.ts'
import type { Folding } from './folding.ts'
import { openLane, type Lane, type LeftOut } from './lane.ts'

/** A projection that failed. `retried`: it will be retried automatically; else it stays stopped until the process is restarted. */
export type ProjectionFailure = Readonly<{ projection: string; error: unknown; retried: boolean }>

/** A build that is folded beside the one that readers use; `moved`: it has caught up, and readers have moved to it. */
export type Beside = Readonly<{ projection: string; index: IndexName; live: IndexName; moved: boolean }>

type LanesOptions = Folding &
  Readonly<{
    writer: IndexWriter
    onFailure: (failure: ProjectionFailure) => void
    onDeadLetter?: (letter: LeftOut) => void
    onBeside?: (beside: Beside) => void
  }>

const retryPauseMs = 1_000
/** How long the previous build is still folded after readers have left it, so that a rollback is instant and not stale. */
export const keptMs = 86_400_000

/**
 * The lanes of a projector: for each projection, one for the live build and one for each other build of its roster that is folded. The
 * caller must not run two of these methods at once.
 */
export type Lanes = Readonly<{
  /** Lanes grouped by position, the furthest group first. A resting lane is in none. */
  groups(): readonly (readonly Lane[])[]
  /** Whether readers use what the lane folds, as far as is known. */
  isLive(lane: Lane): boolean
  /** Their builds as they were stored before they were opened, without new ones. */
  storedBefore(): readonly StoredBuild[]
  /** Lanes that rest after a TransientError go on. True when there were such. */
  goOn(): boolean
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
  /** Why none can go on: the failure of the lane that stopped last, when none is left; or that a record is gone from which they were opened. */
  failure(): unknown
}>

const createState = () => ({
  lanes: [] as readonly Lane[],
  resting: new Set<Lane>(),
  failure: undefined as unknown,
  lostRecord: undefined as LostRecordError | undefined,
  rosters: new Map<string, Roster>(),
  /** Builds and projections that failed: they stay stopped until the process is restarted. */
  stopped: new Set<string>(),
  /** The log's head when this process first considered moving readers: an earlier projector may have written up to there unreported. */
  begunAt: undefined as Position | undefined,
})
type State = ReturnType<typeof createState>

const foldedWith = (roster: Roster): readonly IndexName[] => [
  ...(roster.live === undefined ? [] : [roster.live]),
  ...foldedBeside(roster),
]

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

/** Applies the rosters. */
function createRefresh(given: LanesOptions, state: State) {
  const { stream, writer, clock } = given
  const options = { ...given, epoch: stream.epoch, deadLetters: createDeadLetters({ stream, clock }) }
  const open = async (projection: Projection, index: IndexName): Promise<boolean> => {
    if (state.lanes.some((lane) => lane.index === index)) return false
    const lane = await openLane(projection, index, options)
    state.lanes = [...state.lanes, lane]
    return true
  }
  const facts = createBuildFacts(given)
  const canFold = async (projection: Projection, index: IndexName): Promise<boolean> => {
    if (buildNumber(projection, index) === undefined || state.stopped.has(index)) return false
    return facts.isOfThisLog(index)
  }
  const tidy = async ({ name }: Projection, found: Roster): Promise<Roster> => {
    const change = tidied(await facts.of(name, found))
    // Decided again by the roster that it replaces: somebody may have kept a build meanwhile, or gone back to it.
    return change(found) === undefined ? found : (await changeRoster(writer, name, change)).roster
  }
  const removeDropped = async ({ name }: Projection, roster: Roster): Promise<Roster> => {
    let now = roster
    for (const { index } of roster.followed.filter(({ as }) => as === 'dropped')) {
      await writer.drop(index)
      now = (await changeRoster(writer, name, forget(index))).roster
    }
    return now
  }
  return {
    /** False when it is already open. */
    open,
    /** By its roster, as it was found now. True when it has opened a lane. */
    refresh: async (projection: Projection, found: Roster): Promise<boolean> => {
      refuseLoss(projection, state.rosters.get(projection.name), found)
      const roster = await removeDropped(projection, await tidy(projection, found))
      state.rosters.set(projection.name, roster)
      const wanted = foldedWith(roster)
      state.lanes = state.lanes.filter((lane) => lane.projection !== projection.name || wanted.includes(lane.index))
      let opened = false
      for (const index of wanted) {
        if (await canFold(projection, index)) opened = (await open(projection, index)) || opened
      }
      return opened
    },
  }
}

/** Lanes grouped by position, the furthest first; within a group in the order of the projections. */
function byPlace(lanes: readonly Lane[]): readonly (readonly Lane[])[] {
  const groups = new Map<Position, Lane[]>()
  for (const lane of lanes) groups.set(lane.position(), [...(groups.get(lane.position()) ?? []), lane])
  return [...groups].sort(([a], [b]) => b - a).map(([, group]) => group)
}

/** Whether readers may move to this build now, without going back in time. */
function isDue({ lanes, begunAt }: State, index: IndexName, live: IndexName | undefined, head: Position): boolean {
  const lane = lanes.find((one) => one.index === index)
  if (lane === undefined || lane.position() < (begunAt ?? head)) return false
  const before = lanes.find((one) => one.index === live)
  if (before === undefined) return lane.position() >= head
  // It is further where the live build's index takes nothing: to wait for that one would be to wait for what it is to replace.
  return lane.position() >= before.position() && isAsFar(lane, { position: before.position(), ahead: before.ahead() })
}

/**
 * Whether all that readers find in the live build is in this one. Another process may have folded the live one further than this
 * one has: another projector, for a moment, or a rebuild of the first build there is.
 */
async function holdsAllOf(
  { stream, writer }: LanesOptions,
  lane: Lane | undefined,
  live: IndexName | undefined,
): Promise<boolean> {
  if (lane === undefined) return false
  const before = await storedBuild(writer, lane.projection, live)
  if (before === undefined || before.epoch !== stream.epoch) return true
  return lane.position() >= foldedBy(before) && isAsFar(lane, before.heartbeat)
}

/** Whether a lane has everything that was reported to be folded ahead. */
function isAsFar(lane: Lane, told: Reached): boolean {
  const own = { position: lane.position(), ahead: lane.ahead() }
  if (told.ahead === undefined || told.ahead.position <= own.position) return true
  if (own.ahead === undefined || own.ahead.position < told.ahead.position) return false
  return [...own.ahead.behind.keys()].every(
    (workspaceId) => reachedFor(own, workspaceId) >= reachedFor(told, workspaceId),
  )
}

/** Runs tasks of lanes and of projections: one that fails rests or stops alone. */
function createTasks(given: LanesOptions, state: State) {
  const stop = (name: string, stays: (lane: Lane) => boolean, error: unknown): void => {
    state.lanes = state.lanes.filter(stays)
    state.stopped.add(name)
    state.failure = error
    if (error instanceof LostRecordError) state.lostRecord = error
  }
  /** A failing lane does not hold up the others: its index may be down while theirs are not. */
  const tryLane = async (lane: Lane, task: (lane: Lane) => Promise<void>): Promise<void> => {
    if (!state.lanes.includes(lane) || state.resting.has(lane)) return
    try {
      await task(lane)
    } catch (error) {
      const retried = error instanceof TransientError
      given.onFailure({ projection: lane.projection, error, retried })
      if (retried) state.resting.add(lane)
      else stop(lane.index, (other) => other !== lane, error)
    }
  }
  return {
    async allLanes(task: (lane: Lane) => Promise<void>): Promise<void> {
      await Promise.all(state.lanes.map((lane) => tryLane(lane, task)))
    },
    async eachLane(lanes: readonly Lane[], task: (lane: Lane) => Promise<void>, signal: AbortSignal): Promise<void> {
      for (const lane of lanes) if (!signal.aborted) await tryLane(lane, task)
    },
    /** One that fails for a moment is tried again, until the signal aborts. */
    async eachProjection(task: (projection: Projection) => Promise<void>, signal: AbortSignal): Promise<void> {
      for (const projection of given.projections) {
        const { name } = projection
        for (let isDone = false; !isDone && !signal.aborted && !state.stopped.has(name);) {
          try {
            await task(projection)
            isDone = true
          } catch (error) {
            const retried = error instanceof TransientError
            given.onFailure({ projection: name, error, retried })
            if (retried) await given.timers.pause(retryPauseMs, signal)
            else stop(name, (lane) => lane.projection !== name, error)
          }
        }
      }
    },
  }
}

export function createLanes(given: LanesOptions): Lanes {
  const { stream, writer, decode, clock } = given
  const state = createState()
  const tasks = createTasks(given, state)
  const rosters = createRefresh(given, state)
  return {
    groups: () => byPlace(state.lanes.filter((lane) => !state.resting.has(lane))),
    isLive: ({ projection, index }) => state.rosters.get(projection)?.live === index,
    storedBefore: () => state.lanes.flatMap(({ storedBefore }) => storedBefore ?? []),
    goOn() {
      const { size } = state.resting
      state.resting.clear()
      return size > 0
    },
    failure: () => state.lostRecord ?? (state.lanes.length === 0 ? state.failure : undefined),
    openAll: (signal) =>
      tasks.eachProjection(async (projection) => {
        const { name } = projection
        for (;;) {
          const index = await chooseBuild(writer, projection, stream.epoch)
          // Created before the roster names it: readers must never be sent to a missing build.
          await rosters.open(projection, index)
          await changeRoster(writer, name, claim(index))
          await rosters.refresh(projection, await writer.roster(name))
          const roster = present(state.rosters.get(name), 'what it was refreshed by')
          // A rebuild had taken the name meanwhile, and has given it up: nobody else would remove what was created here.
          if (isGone(roster, index)) await writer.drop(index)
          // Unless a rebuild has taken the name meanwhile, or it had seen what the log has lost.
          if (roster.live === index) return
          if (followedAs(roster, index) !== 'candidate') continue
          if (roster.live !== undefined) given.onBeside?.({ projection: name, index, live: roster.live, moved: false })
          return
        }
      }, signal),
    async refresh(signal) {
      const rosterOf = await askRosters(given)
      let opened = false
      const task = async (projection: Projection): Promise<void> => {
        opened = (await rosters.refresh(projection, await rosterOf(projection))) || opened
      }
      await tasks.eachProjection(task, signal)
      return opened
    },
    async fold(lanes, events, signal) {
      const decoded = events.map(decode)
      const last = events.at(-1)?.position ?? 0
      await tasks.eachLane(lanes, (lane) => lane.fold(decoded, last), signal)
    },
    async foldAhead(lanes, { light, ahead }, signal) {
      const decoded = light.map(decode)
      await tasks.eachLane(lanes, (lane) => lane.foldAhead(decoded, ahead), signal)
    },
    async heartbeat(signal) {
      const head = await stream.head()
      if (!signal.aborted) await tasks.allLanes((lane) => lane.heartbeat(head))
    },
    promoteDue: (head, signal) => {
      state.begunAt ??= head
      return tasks.eachProjection(async ({ name }) => {
        const roster = state.rosters.get(name)
        const due = roster?.followed.find(
          ({ index, as }) => as === 'candidate' && isDue(state, index, roster.live, head),
        )
        const lane = state.lanes.find(({ index }) => index === due?.index)
        if (due === undefined || !(await holdsAllOf(given, lane, roster?.live))) return
        const changed = await changeRoster(writer, name, promoteTo(due.index, roster?.live, clock() + keptMs))
        state.rosters.set(name, changed.roster)
        if (roster?.live !== undefined && changed.roster.live === due.index)
          given.onBeside?.({ projection: name, index: due.index, live: roster.live, moved: true })
      }, signal)
    },
  }
}
