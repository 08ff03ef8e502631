import { Worker } from 'node:worker_threads'
import type { LeftOut } from '#projections/folding/lane.ts'
import type { Beside } from '#projections/folding/lanes.ts'
import { createTroubles } from '#src/compose/troubles.ts'
import { createClock } from '#src/lib/clock.ts'
import { dayOf } from '#src/lib/day.ts'
import { systemTimers } from '#src/lib/timers.ts'

/** What the embedded projector's thread is started with. */
export type ProjectorData = Readonly<{
  logFile: string
  partition: string
  indexFolder: string
  directoryFile: string
}>
/** What it is told. */
export type ProjectorOrder = 'start' | 'stop'
/** What the operator hears: why one of its projections has stopped, or is tried again; which event one leaves out. */
type ProjectorTrouble = Readonly<{ projection: string; reason: string; retried: boolean }> | LeftOut
/** What it says: troubles, builds that it folds beside the ones that readers use, partitions that it begins or ceases to fold, and retention. */
export type ProjectorMessage =
  | ProjectorTrouble
  | Beside
  | Readonly<{ partition: string; isFolded: boolean }>
  | RetentionDone
  | RetentionWait

/** One turn of retention (projections/retention/retention.ts, `Retained`). */
type RetentionDone = Readonly<{
  partition: string
  daysDropped: number
  /** Builds because of which its log is not cut as far as it might be; those that are given up for that. */
  heldBy: readonly string[]
  givenUp: readonly string[]
  /** The time (ms) that it has come to, where more has expired by now. */
  standsAt: number | undefined
}>

/** Nothing expires yet: it could not be removed, or, until `until`, what was sent last was received long ago by this machine's clock. */
type RetentionWait =
  | Readonly<{ partition: string; notRetained: string }>
  | Readonly<{ partition: string; silentSince: number; until: number }>

function describe(message: ProjectorTrouble): string {
  const { projection, reason } = message
  if ('position' in message) {
    return `projection ${projection} leaves out the event at ${message.position} (see throughline dead-letters list): ${reason}`
  }
  return `projection ${projection} ${message.retried ? 'is tried again' : 'has stopped'}: ${reason}`
}

/** As after an upgrade: until readers move, answers are not complete. */
function describeBeside({ projection, index, live, moved }: Beside): string {
  if (moved) return `projection ${projection}: readers use ${index} now; ${live} is kept to roll back to`
  return `projection ${projection} is folded into ${index}; readers use ${live} until that has caught up`
}

function describeWait(message: RetentionWait): string {
  if ('notRetained' in message) {
    const { partition, notRetained } = message
    return `expired data of partition ${partition} could not be removed; trying again: ${notRetained}`
  }
  const [since, until] = [message.silentSince, message.until].map((at) => new Date(at).toISOString())
  return `partition ${message.partition} has received nothing since ${since}: what has expired is removed at ${until}; if this machine's clock is ahead, stop the server before`
}

export type ProjectorThread = Readonly<{
  start(): void
  /** Resolves when it has let go of the indexes, or was ended because it took too long. It may be started again. */
  stop(): Promise<void>
  /** The partitions that it folds now. */
  folded(): readonly string[]
  /** How many days of indexes it has dropped. */
  daysDropped(): number
  /** How many builds keep logs from being cut, of those that it folds. */
  buildsHolding(): number
}>

const sweepEveryMs = 15_000
const restartPauseMs = 1_000
const restartPauseMsMax = 10_000
/** How long it may take to let go: it has the lowest priority, and a replacement of the worker waits for it. */
const letGoMsMax = 15_000

/** How long to wait before one that has ended is started again: each time twice as long where it ends before that is over. */
export const pauseAfter = (pauseMs: number, livedMs: number): number =>
  livedMs > restartPauseMsMax ? restartPauseMs : Math.min(Math.max(2 * pauseMs, restartPauseMs), restartPauseMsMax)

/** Which builds keep logs from being cut, partition by partition; the operator hears of it when that changes. */
function createHolding() {
  const held = new Map<string, readonly string[]>()
  return {
    hear({ partition, heldBy, givenUp }: RetentionDone): void {
      const before = held.get(partition) ?? []
      held.set(partition, heldBy)
      for (const build of givenUp)
        console.error(`${build} of partition ${partition} has not been folded for too long and is removed`)
      if (heldBy.length === 0 || heldBy.join() === before.join()) return
      console.error(
        `the log of partition ${partition} is kept for longer than needed: ${heldBy.join(', ')} has not folded its beginning yet (see throughline builds)`,
      )
    },
    clear: (partition?: string): void => void (partition === undefined ? held.clear() : held.delete(partition)),
    count: (): number => [...held.values()].reduce((sum, { length }) => sum + length, 0),
  }
}

/** Which day retention has come to where it is behind, partition by partition; the operator hears of each. */
function createStanding() {
  const told = new Map<string, string>()
  return ({ partition, standsAt }: RetentionDone): void => {
    if (standsAt === undefined) return void told.delete(partition)
    const day = dayOf(standsAt)
    if (told.get(partition) === day) return
    told.set(partition, day)
    console.error(
      `more than a day of the log of partition ${partition} has expired: it goes day by day, as on ${day} by now, as after a time off; if this machine's clock is ahead, stop the server before more goes (see "Retention" in infra/operating.md)`,
    )
  }
}

/** What is tried again is told once, and that it goes on; whatever else happens to a projection is told each time. */
function createTelling() {
  const troubles = createTroubles({ clock: createClock() })
  return {
    hear(message: ProjectorTrouble): void {
      const [subject, line] = [`projection ${message.projection}`, describe(message)]
      const isRetried = 'retried' in message && message.retried
      if (isRetried) return troubles.hear(subject, line)
      if ('retried' in message) troubles.forget((one) => one === subject)
      console.error(line)
    },
    sweep: troubles.sweep,
    clear: (partition: string): void => troubles.forget((subject) => subject.endsWith(` of partition ${partition}`)),
  }
}

/**
 * A projector in a thread of its own: `program` is a file beside this one, which gets `data`. It is loaded at once and waits to be
 * started. One that ends is started again after a pause, from where its indexes are, and after a longer one each time it ends at once, as
 * where its log cannot be read; until then ingest goes on, and readers are told that the indexes are not complete.
 */
export function createProjectorThread(program: string, data: object, { letGoMs = letGoMsMax } = {}): ProjectorThread {
  let isRunning = false
  let restart: NodeJS.Timeout | undefined
  let pauseMs = 0
  let startedAt = 0
  let current: Worker | undefined
  const folded = new Set<string>()
  let dropped = 0
  let stopSweeping: (() => void) | undefined
  const troubles = createTelling()
  const holding = createHolding()
  const hearStanding = createStanding()

  const hear = (message: ProjectorMessage): void => {
    if ('moved' in message) return console.log(describeBeside(message))
    if ('notRetained' in message || 'silentSince' in message) return console.error(describeWait(message))
    if ('daysDropped' in message) {
      dropped += message.daysDropped
      hearStanding(message)
      return holding.hear(message)
    }
    if (!('isFolded' in message)) return troubles.hear(message)
    if (message.isFolded) return void folded.add(message.partition)
    folded.delete(message.partition)
    holding.clear(message.partition)
    troubles.clear(message.partition)
  }
  const load = (): Worker => {
    const thread = new Worker(new URL(program, import.meta.url), { workerData: data, name: 'projector' })
    thread.on('message', hear)
    thread.on('error', (error) => console.error(`the projector has ended: ${error.message}`))
    thread.once('exit', () => {
      current = undefined
      folded.clear()
      holding.clear()
      pauseMs = pauseAfter(pauseMs, performance.now() - startedAt)
      if (isRunning) restart = setTimeout(run, pauseMs)
    })
    current = thread
    return thread
  }
  const tell = (thread: Worker, order: ProjectorOrder): void => thread.postMessage(order)
  const run = (): void => {
    startedAt = performance.now()
    tell(current ?? load(), 'start')
  }

  load()
  return {
    start: () => {
      if (isRunning) return
      isRunning = true
      stopSweeping = systemTimers.every(sweepEveryMs, troubles.sweep)
      run()
    },
    stop: async () => {
      isRunning = false
      stopSweeping?.()
      clearTimeout(restart)
      const thread = current
      if (thread === undefined) return
      const ended = new Promise((resolve) => void thread.once('exit', resolve))
      tell(thread, 'stop')
      // As after a crash: what is not committed is folded again.
      const late = setTimeout(() => void thread.terminate(), letGoMs)
      await ended
      clearTimeout(late)
    },
    folded: () => [...folded],
    daysDropped: () => dropped,
    buildsHolding: holding.count,
  }
}

/**
 * What is done beside a projector, where it runs and only while it does. Both are told to stop at once: one of them that is started again
 * before the other has stopped goes on.
 */
export const withBeside = (
  projector: ProjectorThread,
  beside: Readonly<{ start(): void; stop(): Promise<void> }>,
): ProjectorThread => ({
  ...projector,
  start: () => {
    projector.start()
    beside.start()
  },
  stop: async () => void (await Promise.all([beside.stop(), projector.stop()])),
})
