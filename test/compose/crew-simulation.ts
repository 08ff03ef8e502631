import { expect } from 'chai'
import type { WorkerEvent } from '#src/compose/processes/crew.ts'
import { WorkerEnded, type Ending, type SupervisedWorker } from '#src/compose/processes/supervised-worker.ts'
import { createSupervisor, type Supervisor } from '#src/compose/processes/supervisor.ts'

/** What is asked of a worker and answered later: a script decides how, for each worker by its number. */
type Step = 'boot' | 'takeOver' | 'letGo'
/** `ok` after some virtual time, `crash`, `end`: say so, and crash with the word; or `hang`: never. */
export type Reaction = Readonly<{ does: 'ok' | 'crash' | 'end' | 'hang'; ms: number }>
export type Script = (worker: number, step: Step) => Reaction

/** As the program has it. */
export const silenceMs = 30_000
export const stopPatienceMs = 8_000

export const promptly: Script = () => ({ does: 'ok', ms: 10 })

/** Runs what is due at a virtual time, in its order. */
function createClock() {
  let tasks: { at: number; order: number; run: () => void }[] = []
  let now = 0
  let made = 0
  const after = (ms: number, run: () => void): (() => void) => {
    const task = { at: now + ms, order: ++made, run }
    tasks.push(task)
    return () => {
      tasks = tasks.filter((each) => each !== task)
    }
  }
  const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
  return {
    after,
    now: () => now,
    waiting: () => tasks.length,
    /** All are asleep: what is due meanwhile is late. */
    sleep: (ms: number): void => {
      now += ms
    },
    /** Until nothing is due any more before the time is over. */
    async run(ms: number): Promise<void> {
      const until = now + ms
      for (;;) {
        await settled()
        const due = tasks.filter(({ at }) => at <= until).sort((a, b) => a.at - b.at || a.order - b.order)[0]
        if (due === undefined) break
        tasks = tasks.filter((each) => each !== due)
        now = Math.max(now, due.at)
        due.run()
      }
      now = until
    },
  }
}

type SimulatedWorker = Readonly<{
  id: number
  /** Orders that it got, in their order. */
  orders: string[]
  /** Folds the log, or may have begun to. */
  isOwner(): boolean
  isAlive(): boolean
  crash(): void
  /** Does nothing any more, whatever it is told. */
  hang(): void
  /** Ends as a worker that has answered its last request. */
  finish(): void
}>

export type Simulation = Readonly<{
  supervisor: Supervisor
  workers: SimulatedWorker[]
  reports: WorkerEvent[]
  run(ms: number): Promise<void>
  sleep(ms: number): void
  /** Timers, each of which keeps a process from its end. */
  waiting(): number
  /** Of `supervisor.run()`. */
  outcome: Promise<boolean | Error>
  owners(): readonly number[]
  kinds(): readonly string[]
}>

type Clock = ReturnType<typeof createClock>

type Setting = Readonly<{ clock: Clock; script: Script; knowsTheQuestion: boolean; onChange: () => void }>

function createWorker(
  id: number,
  { clock, script, knowsTheQuestion, onChange }: Setting,
): Readonly<{ simulated: SimulatedWorker; supervised: SupervisedWorker }> {
  const end = Promise.withResolvers<Ending>()
  const orders: string[] = []
  const state = { isAlive: true, isReady: false, isHanging: false, isOwner: false, mayResume: false, turn: 0 }
  let answers = 0

  const ends = (ending: Ending): void => {
    if (!state.isAlive) return
    state.isAlive = false
    state.isOwner = false
    onChange()
    end.resolve(ending)
  }
  const crash = (): void => ends({ code: null, signal: 'SIGKILL' })
  const react = (step: Step): Promise<void> => {
    const { does, ms } = script(id, step)
    const reaction = new Promise<void>((resolve) => {
      if (does === 'hang') return
      clock.after(ms, () => {
        if (state.isHanging) return
        if (does === 'crash') crash()
        else if (state.isAlive) resolve()
        if (does === 'end') crash()
      })
    })
    const failed = end.promise.then((ending): never => {
      throw new WorkerEnded(ending)
    })
    return Promise.race([reaction, failed])
  }
  const told = (order: string): void => {
    if (state.isAlive) orders.push(order)
  }
  const ready = react('boot').then(() => {
    state.isReady = true
  })
  ready.catch(() => undefined)
  const supervised: SupervisedWorker = {
    pid: 1_000 + id,
    ready,
    ended: end.promise,
    takeOver: async () => {
      told('takeOver')
      state.turn++
      // From here on it may be the owner, whenever it says so.
      if (state.isAlive) state.isOwner = true
      onChange()
      await react('takeOver')
    },
    letGo: async () => {
      told('letGo')
      const turn = ++state.turn
      await react('letGo').catch(() => undefined)
      // Overtaken by another order.
      if (turn !== state.turn) return
      state.mayResume ||= state.isOwner
      state.isOwner = false
      onChange()
    },
    resume: () => {
      told('resume')
      state.turn++
      if (state.isAlive) state.isOwner ||= state.mayResume
      onChange()
    },
    resign: () => {
      told('resign')
      state.mayResume = false
    },
    stop: () => {
      told('stop')
      clock.after(5, () => {
        if (!state.isHanging) ends({ code: 0, signal: null })
      })
    },
    ask: () => {
      // As it is: told anything before it is ready, a worker ends.
      if (!state.isReady) return crash()
      clock.after(1, () => {
        if (!state.isHanging) answers++
      })
    },
    answers: () => (knowsTheQuestion ? answers : undefined),
    kill: () => void clock.after(1, crash),
  }
  const simulated: SimulatedWorker = {
    id,
    orders,
    isOwner: () => state.isOwner,
    isAlive: () => state.isAlive,
    crash,
    hang: () => {
      state.isHanging = true
    },
    finish: () => {
      if (!state.isHanging) ends({ code: 0, signal: null })
    },
  }
  return { simulated, supervised }
}

/**
 * The real supervisor over workers that do what a script says. That two fold the log fails at once. Workers of a program from before
 * do not know the question whether they are there.
 */
export function simulate(
  script: Script = promptly,
  knowsTheQuestion = true,
  prepare: () => Promise<void> = async () => {},
): Simulation {
  const clock = createClock()
  const workers: SimulatedWorker[] = []
  const reports: WorkerEvent[] = []
  const owners = (): readonly number[] => workers.filter((worker) => worker.isOwner()).map(({ id }) => id)
  let violation: string | undefined
  const violate = (what: string): void => void (violation ??= what)
  const onChange = (): void => {
    if (owners().length > 1) violate(`workers ${owners().join(' and ')} fold the log at once`)
  }
  const supervisor = createSupervisor({
    startWorker: () => {
      const { simulated, supervised } = createWorker(workers.length + 1, { clock, script, knowsTheQuestion, onChange })
      workers.push(simulated)
      return supervised
    },
    prepare,
    report: (event) => reports.push(event),
    silenceMs,
    stopPatienceMs,
    after: clock.after,
  })
  return {
    supervisor,
    workers,
    reports,
    outcome: supervisor.run().catch((error: Error) => error),
    run: async (ms) => {
      await clock.run(ms)
      expect(violation).to.equal(undefined)
    },
    sleep: clock.sleep,
    waiting: clock.waiting,
    owners,
    kinds: () => reports.map(({ kind }) => kind),
  }
}
