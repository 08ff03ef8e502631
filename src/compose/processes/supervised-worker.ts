import type { Watched } from './watch.ts'

/** How a worker ended. `error`: it could not even be started. */
export type Ending = Readonly<{ code: number | null; signal: NodeJS.Signals | null; error?: Error }>

export const describeEnding = ({ code, signal, error }: Ending): string =>
  error?.message ?? (signal === null ? `exit code ${code}` : signal)

export class WorkerEnded extends Error {
  override readonly name = 'WorkerEnded'
  readonly ending: Ending
  constructor(ending: Ending) {
    super(`the worker has ended (${describeEnding(ending)})`)
    this.ending = ending
  }
}

/** A worker as its supervisor sees it. For the meaning of the orders, see WorkerServer in compose.ts. */
export type SupervisedWorker = Watched &
  Readonly<{
    pid: number
    /** Rejects with WorkerEnded when it ends before. */
    ready: Promise<void>
    ended: Promise<Ending>
    /** Rejects with WorkerEnded when it ends before. */
    takeOver(): Promise<void>
    /** Resolves when it has let go, or has ended. */
    letGo(): Promise<void>
    resume(): void
    resign(): void
    stop(patienceMs: number): void
    kill(): void
  }>
