import { TransientError } from '#src/lib/failure.ts'
import type { Timers } from '#src/lib/timers.ts'
import type { Stream } from '#streams/stream.ts'

type Task = { at: number; order: number; run: () => void }

/** Time that passes only when everything that is due has been done. Equal times go in the order of their making. */
export function createWorld() {
  let tasks: Task[] = []
  let made = 0
  let now = Date.UTC(2026, 10, 21, 12)
  const after = (ms: number, run: () => void): (() => void) => {
    const task = { at: now + ms, order: ++made, run }
    tasks.push(task)
    return () => {
      tasks = tasks.filter((each) => each !== task)
    }
  }
  return {
    now: () => Math.floor(now),
    after,
    sleep: (ms: number): Promise<void> => new Promise((resolve) => void after(ms, resolve)),
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
    pause: (ms, signal) =>
      new Promise((resolve) => {
        after(ms, () => deliver(resolve))
        signal.addEventListener('abort', () => resolve(), { once: true })
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

/**
 * How a call to the log goes wrong. `late`: it fails, and what was asked is done long after. `twice`: an adapter that got no answer
 * asks again by itself.
 */
export type Fault = 'before' | 'after' | 'late' | 'twice' | undefined
export type Network = Readonly<{ delayMs: () => number; fault: () => Fault; lateMs: () => number }>

/** The log as a process reaches it: nothing takes no time, and everything may go wrong. */
export function reach(stream: Stream, world: World, process: Process, { delayMs, fault, lateMs }: Network): Stream {
  const call = <T>(mayWrite: boolean, operation: () => Promise<T>): Promise<T> =>
    new Promise((resolve, reject) => {
      const wrong = fault()
      const lost = (): void => reject(new TransientError({ operation: 'reach', subject: 'the log' }))
      const fail = (): void => process.deliver(lost)
      if (wrong === 'before' || wrong === 'late' || (wrong === 'after' && !mayWrite)) {
        world.after(delayMs(), fail)
        if (wrong === 'late' && mayWrite) world.after(lateMs(), () => void operation().catch(() => undefined))
        return
      }
      world.after(delayMs(), () => {
        const outcome = wrong === 'twice' ? operation().then(operation) : operation()
        const answer = (): void => void outcome.then(resolve, reject)
        outcome.catch(() => undefined)
        world.after(delayMs(), wrong === 'after' ? fail : () => process.deliver(answer))
      })
    })
  return {
    ...stream,
    append: (events, expected) => call(true, () => stream.append(events, expected)),
    find: (ids, now) => call(false, () => stream.find(ids, now)),
    last: (subject) => call(false, () => stream.last(subject)),
    read: (after, max) => call(false, () => stream.read(after, max)),
    head: () => call(false, () => stream.head()),
  }
}
