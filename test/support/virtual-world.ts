import type { Timers } from '#src/lib/timers.ts'

type Task = { at: number; order: number; run: () => void }

const stepsKept = 60

/** Time that passes only when everything that is due has been done. Equal times go in the order of their making. `startsAt`: ms. */
export function createWorld(startsAt = Date.UTC(2026, 10, 21, 12)) {
  let tasks: Task[] = []
  let made = 0
  let now = startsAt
  let jumped = 0
  const steps: string[] = []
  const after = (ms: number, run: () => void): (() => void) => {
    const task = { at: now + ms, order: ++made, run }
    tasks.push(task)
    return () => {
      tasks = tasks.filter((each) => each !== task)
    }
  }
  return {
    startsAt,
    /** What clocks show. */
    now: () => Math.floor(now + jumped),
    /** Goes on evenly (`Ticks`). */
    ticks: () => now - startsAt,
    /** All clocks are put forward; what is due is not due sooner. */
    jump: (ms: number): void => {
      jumped += ms
    },
    after,
    sleep: (ms: number): Promise<void> => new Promise((resolve) => void after(ms, resolve)),
    /** Keeps what was done, for whoever has to find out what went wrong. */
    note(step: string): void {
      steps.push(`${(now / 1_000).toFixed(3).slice(-8)} ${step}`)
      if (steps.length > 2 * stepsKept) steps.splice(0, stepsKept)
    },
    lastSteps: (): readonly string[] => steps.slice(-stepsKept),
    /** Goes on until the promise is settled, and gives what it resolves with. */
    async until<T>(promise: Promise<T>): Promise<T> {
      let isOver = false
      void promise.then(
        () => (isOver = true),
        () => (isOver = true),
      )
      for (;;) {
        await new Promise((resolve) => setImmediate(resolve))
        if (isOver) return promise
        const next = tasks.reduce<Task | undefined>(
          (first, task) =>
            first === undefined || task.at < first.at || (task.at === first.at && task.order < first.order)
              ? task
              : first,
          undefined,
        )
        if (next === undefined) throw new Error('everything waits for something')
        tasks = tasks.filter((task) => task !== next)
        now = Math.max(now, next.at)
        next.run()
      }
    },
  }
}
export type World = ReturnType<typeof createWorld>

/** A process of the world: what it waits for reaches it while it lives, and late while it sleeps. */
export function createProcess({ after, now }: World) {
  let isAlive = true
  let asleepUntil = 0
  const death = Promise.withResolvers<void>()
  /** As soon as the process is awake, unless it dies before. */
  const deliver = (run: () => void): void => {
    if (!isAlive) return
    if (asleepUntil > now()) after(asleepUntil - now(), () => deliver(run))
    else run()
  }
  const timers: Timers = {
    every: (ms, task) => {
      let isStopped = false
      const again = (): void => {
        after(ms, () =>
          deliver(() => {
            if (isStopped) return
            task()
            again()
          }),
        )
      }
      again()
      return () => {
        isStopped = true
      }
    },
    turn: () => new Promise((resolve) => void after(0, () => deliver(resolve))),
    pause: (ms, signal) =>
      new Promise((resolve) => {
        after(ms, () => deliver(resolve))
        signal?.addEventListener('abort', () => resolve(), { once: true })
      }),
  }
  return {
    isAlive: () => isAlive,
    died: death.promise,
    deliver,
    timers,
    die: () => {
      isAlive = false
      death.resolve()
    },
    sleep: (ms: number) => {
      asleepUntil = Math.max(asleepUntil, now() + ms)
    },
  }
}
export type Process = ReturnType<typeof createProcess>
