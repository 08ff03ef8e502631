import { Worker } from 'node:worker_threads'
import { systemTimers } from '#src/lib/timers.ts'
import type { ProjectorOrder } from './projector-messages.ts'
import { createProjectorReport, type ProjectorReport } from './projector-report.ts'

export type ProjectorThread = Pick<ProjectorReport, 'folded' | 'daysDropped' | 'buildsHolding'> &
  Readonly<{
    start(): void
    /** Resolves when it has let go of the indexes, or was ended because it took too long. It may be started again. */
    stop(): Promise<void>
  }>

const sweepEveryMs = 15_000
const restartPauseMs = 1_000
const restartPauseMsMax = 10_000
/** How long it may take to let go: it has the lowest priority, and a replacement of the worker waits for it. */
const letGoMsMax = 15_000

/** How long to wait before a thread that has ended is started again: twice as long each time, unless it lived longer than the longest pause. */
export const pauseAfter = (pauseMs: number, livedMs: number): number =>
  livedMs > restartPauseMsMax ? restartPauseMs : Math.min(Math.max(2 * pauseMs, restartPauseMs), restartPauseMsMax)

/**
 * A projector in a thread of its own: `program` is a file beside this one, which gets `data`. It is loaded at once and waits to be started. A thread
 * that ends is started again after a pause, and continues from where its indexes are. The pause grows each time the thread ends soon, for example if
 * its log cannot be read. Meanwhile ingest goes on, and readers are told that the indexes are not complete.
 */
export function createProjectorThread(program: string, data: object, { letGoMs = letGoMsMax } = {}): ProjectorThread {
  let isRunning = false
  let restart: NodeJS.Timeout | undefined
  let pauseMs = 0
  let startedAt = 0
  let current: Worker | undefined
  let stopSweeping: (() => void) | undefined
  const report = createProjectorReport()

  const load = (): Worker => {
    const thread = new Worker(new URL(program, import.meta.url), { workerData: data, name: 'projector' })
    thread.on('message', report.hear)
    thread.on('error', ({ message }) => report.failed(message))
    thread.once('exit', () => {
      current = undefined
      report.ended()
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
      stopSweeping = systemTimers.every(sweepEveryMs, report.sweep)
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
      // Harmless, as a crash is: what is not committed is folded again.
      const late = setTimeout(() => void thread.terminate(), letGoMs)
      await ended
      clearTimeout(late)
    },
    folded: report.folded,
    daysDropped: report.daysDropped,
    buildsHolding: report.buildsHolding,
  }
}

/**
 * A projector with work beside it, which starts and stops with it. Both are told to stop at the same time; if one is started again before the other
 * has stopped, it goes on.
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
