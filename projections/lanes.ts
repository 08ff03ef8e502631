import { present } from '#src/lib/assert.ts'
import { TransientError } from '#src/lib/failure.ts'
import type { Position, RecordedEvent } from '#src/events/envelope.ts'
import type { Step } from './ahead.ts'
import { buildNumber, chooseBuild } from './build-name.ts'
import type { Folding } from './folding.ts'
import {
  reachedFor,
  storedBuild,
  type IndexName,
  type IndexWriter,
  type Reached,
  type Roster,
  type StoredBuild,
} from './index-store.ts'
import { createDeadLetters } from './dead-letters.ts'
import { openLane, type Lane, type LeftOut } from './lane.ts'
import { hasLostTail } from './log-tail.ts'
import type { Projection } from './projection.ts'
import {
  changeRoster,
  claim,
  foldedBeside,
  followedAs,
  forget,
  giveUp,
  isGone,
  keptForATime,
  lose,
  promoteTo,
} from './roster.ts'

/** A projection that could not go on: `retried` when it is tried again by itself, else it stands until the process does. */
export type ProjectionFailure = Readonly<{ projection: string; error: unknown; retried: boolean }>

export type LanesOptions = Folding &
  Readonly<{
    writer: IndexWriter
    onFailure: (failure: ProjectionFailure) => void
    onDeadLetter?: (letter: LeftOut) => void
  }>

const retryPauseMs = 1_000
/** How long the build that readers have left is folded on, so that going back is instant and not stale. */
export const keptMs = 86_400_000

/**
 * The lanes of a projector: for each projection the build that readers use, and those beside it that its roster names. What
 * they do is done in turn: the caller sees to that.
 */
export type Lanes = Readonly<{
  /** Lanes that stand at one place, the furthest group first. One that rests is in none. */
  groups(): readonly (readonly Lane[])[]
  /** Whether readers use what the lane folds, as far as is known. */
  isLive(lane: Lane): boolean
  /** Their builds as they were when they were opened; those that were new left out. */
  left(): readonly StoredBuild[]
  /** Lanes that rest, since something that passes by itself has failed them, go on. True when there were such. */
  goOn(): boolean
  /** Opens each projection's build of this log; a new one becomes a candidate, or the live one where readers have none. */
  openAll(signal: AbortSignal): Promise<void>
  /** Goes by what the rosters say now: who is to be folded, who no more, what is dropped. True when a lane was opened. */
  refresh(signal: AbortSignal): Promise<boolean>
  /** A lane that fails stays where it was. */
  fold(lanes: readonly Lane[], events: readonly RecordedEvent[], signal: AbortSignal): Promise<void>
  /** The same of what stands beyond the lanes' place, of workspaces that need not wait (ahead.ts). */
  foldAhead(lanes: readonly Lane[], step: Step, signal: AbortSignal): Promise<void>
  heartbeat(signal: AbortSignal): Promise<void>
  /** Moves readers to each candidate that stands where the live build does, or, where that is not folded, at `head`. */
  promoteDue(head: Position, signal: AbortSignal): Promise<void>
  /** Of the lane that stopped last, when none is left. */
  failure(): unknown
}>

/** Does it; what passes by itself is tried again, anything else goes to `stop`. */
function createAttempt({ timers, onFailure }: Pick<LanesOptions, 'timers' | 'onFailure'>) {
  return async (
    projection: string,
    task: () => Promise<void>,
    signal: AbortSignal,
    stop: (error: unknown) => void,
  ): Promise<void> => {
    while (!signal.aborted) {
      try {
        return await task()
      } catch (error) {
        const retried = error instanceof TransientError
        onFailure({ projection, error, retried })
        if (!retried) return stop(error)
        await timers.pause(retryPauseMs, signal)
      }
    }
  }
}

type State = {
  lanes: Lane[]
  resting: Set<Lane>
  failure: unknown
  rosters: Map<string, Roster>
  /** Builds and projections that failed: they stand until the process starts again. */
  stopped: Set<string>
  /** Of builds whether they had seen what their log has lost when they were first met: that stays so. */
  lost: Map<IndexName, boolean>
  /** Where the log ended when this process first came to move readers: who folded before it may have written up to there untold. */
  begunAt: Position | undefined
}

const createState = (): State => ({
  lanes: [],
  resting: new Set(),
  failure: undefined,
  rosters: new Map(),
  stopped: new Set(),
  lost: new Map(),
  begunAt: undefined,
})

const foldedWith = (roster: Roster): readonly IndexName[] => [
  ...(roster.live === undefined ? [] : [roster.live]),
  ...foldedBeside(roster),
]

/** What each roster says, put into effect. */
function createRefresh(given: LanesOptions, state: State) {
  const { stream, writer, clock } = given
  const options = { ...given, epoch: stream.epoch, deadLetters: createDeadLetters({ stream, clock }) }
  const open = async (projection: Projection, index: IndexName): Promise<boolean> => {
    if (state.lanes.some((lane) => lane.index === index)) return false
    state.lanes.push(await openLane(projection, index, options))
    return true
  }
  const canFold = async (projection: Projection, index: IndexName): Promise<boolean> => {
    if (buildNumber(projection, index) === undefined || state.stopped.has(index)) return false
    return (await writer.checkpoint(index)).epoch === stream.epoch
  }
  const isLost = async ({ name }: Projection, index: IndexName): Promise<boolean> => {
    const known = state.lost.get(index)
    if (known !== undefined) return known
    // Before the log is asked where it ends: whoever folds it meanwhile sees more.
    const build = await storedBuild(writer, name, index)
    const lost = build?.epoch === stream.epoch && (await hasLostTail(stream, build))
    state.lost.set(index, lost)
    return lost
  }
  /** Whether a build beside the live one has seen more than there is of the log, and that one has not: else all are to be made anew. */
  const isBeyond = async (projection: Projection, index: IndexName, { live }: Roster): Promise<boolean> =>
    (await isLost(projection, index)) && !(live !== undefined && (await isLost(projection, live)))
  const dropGone = async (projection: Projection, roster: Roster): Promise<Roster> => {
    const { name } = projection
    let now = roster
    for (const { index, untilMs } of keptForATime(roster)) {
      // Of another log, as after a backup was restored: nobody can fold it on, nor go back to it.
      const isOver = untilMs <= clock() || (await writer.checkpoint(index)).epoch !== stream.epoch
      if (isOver) now = (await changeRoster(writer, name, giveUp(index))).roster
    }
    for (const index of foldedBeside(now)) {
      if (await isBeyond(projection, index, now)) now = (await changeRoster(writer, name, lose(index))).roster
    }
    for (const { index } of now.followed.filter(({ as }) => as === 'dropped')) {
      state.lanes = state.lanes.filter((lane) => lane.index !== index)
      await writer.drop(index)
      now = (await changeRoster(writer, name, forget(index))).roster
    }
    return now
  }
  return {
    /** False when it is open already. */
    open,
    /** True when it has opened a lane. */
    refresh: async (projection: Projection): Promise<boolean> => {
      const roster = await dropGone(projection, await writer.roster(projection.name))
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

/** Lanes by the place where they stand, the furthest first; of one place in the order of the projections. */
function byPlace(lanes: readonly Lane[]): readonly (readonly Lane[])[] {
  const groups = new Map<Position, Lane[]>()
  for (const lane of lanes) groups.set(lane.position(), [...(groups.get(lane.position()) ?? []), lane])
  return [...groups].sort(([a], [b]) => b - a).map(([, group]) => group)
}

/** Whether readers may move to this build now: not a step back for them. */
function isDue({ lanes, begunAt }: State, index: IndexName, live: IndexName | undefined, head: Position): boolean {
  const lane = lanes.find((one) => one.index === index)
  if (lane === undefined || lane.position() < (begunAt ?? head)) return false
  const before = lanes.find((one) => one.index === live)
  if (before === undefined) return lane.position() >= head
  return lane.position() === before.position() && lane.ahead() === before.ahead()
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
  return lane.position() >= Math.max(before.checkpoint, before.heartbeat.position) && isAsFar(lane, before.heartbeat)
}

/** Whether a lane has all that was told to be ahead of its turn. */
function isAsFar(lane: Lane, told: Reached): boolean {
  const own = { position: lane.position(), ahead: lane.ahead() }
  if (told.ahead === undefined || told.ahead.position <= own.position) return true
  if (own.ahead === undefined || own.ahead.position < told.ahead.position) return false
  return [...own.ahead.behind.keys()].every((of) => reachedFor(own, of) >= reachedFor(told, of))
}

/** Tasks of lanes and of projections: who fails rests or stops alone. */
function createTasks(given: LanesOptions, state: State) {
  const attempt = createAttempt(given)
  const stop = (name: string, stays: (lane: Lane) => boolean, error: unknown): void => {
    state.lanes = state.lanes.filter(stays)
    state.stopped.add(name)
    state.failure = error
  }
  return {
    /** A lane is not waited for: where its index does not answer, those of the others may. */
    async eachLane(lanes: readonly Lane[], task: (lane: Lane) => Promise<void>, signal: AbortSignal): Promise<void> {
      for (const lane of lanes) {
        if (signal.aborted) return
        if (!state.lanes.includes(lane) || state.resting.has(lane)) continue
        try {
          await task(lane)
        } catch (error) {
          const retried = error instanceof TransientError
          given.onFailure({ projection: lane.projection, error, retried })
          if (retried) state.resting.add(lane)
          else stop(lane.index, (other) => other !== lane, error)
        }
      }
    },
    async eachProjection(task: (projection: Projection) => Promise<void>, signal: AbortSignal): Promise<void> {
      for (const projection of given.projections) {
        const { name } = projection
        if (state.stopped.has(name)) continue
        const stopAll = (error: unknown): void => stop(name, (lane) => lane.projection !== name, error)
        await attempt(name, () => task(projection), signal, stopAll)
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
    left: () => state.lanes.flatMap(({ left }) => left ?? []),
    goOn() {
      const { size } = state.resting
      state.resting.clear()
      return size > 0
    },
    failure: () => (state.lanes.length === 0 ? state.failure : undefined),
    openAll: (signal) =>
      tasks.eachProjection(async (projection) => {
        const { name } = projection
        for (;;) {
          const index = await chooseBuild(writer, projection, stream.epoch)
          // Made before it is named: readers must never be sent to a build that is not there.
          await rosters.open(projection, index)
          await changeRoster(writer, name, claim(index))
          await rosters.refresh(projection)
          const roster = present(state.rosters.get(name), 'what it was refreshed by')
          // A rebuild had taken the name meanwhile, and has given it up: nobody else removes what was made here.
          if (isGone(roster, index)) await writer.drop(index)
          // Unless a rebuild has taken the name meanwhile, or it had seen what the log has lost.
          if (roster.live === index || followedAs(roster, index) === 'candidate') return
        }
      }, signal),
    async refresh(signal) {
      let opened = false
      const task = async (projection: Projection): Promise<void> => {
        opened = (await rosters.refresh(projection)) || opened
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
      await tasks.eachLane([...state.lanes], (lane) => lane.heartbeat(head), signal)
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
      }, signal)
    },
  }
}
