import { ConfigError } from '#src/config.ts'
import type { RequestFailure } from '#src/http/app.ts'
import { createTokenBuckets } from '#src/http/token-buckets.ts'
import type { Ticks } from '#src/lib/clock.ts'
import { isOperatingFailure } from '#src/lib/failure.ts'
import { shownInLine, shownSafely } from '#src/lib/shown-safely.ts'

/** The system gives this user no more threads. */
const isWithoutThreads = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_INIT_FAILED'

/** What the operator is shown of an error: the message alone if they can act on it, in one line, or one line a setting; else the stack. */
export function explain(error: unknown): string {
  if (isWithoutThreads(error))
    return `start a thread: ${(error as Error).message} (this user, or its service, may have no more: raise ulimit -u, or TasksMax)`
  if (isOperatingFailure(error)) return shownInLine(error.message)
  if (error instanceof ConfigError) return shownSafely(error.message)
  return shownSafely(error instanceof Error ? (error.stack ?? error.message) : String(error))
}

/** How many lines failures that every request may meet, such as a full disk, get at once, and then each second. */
const [linesBurst, linesPerSecond] = [20, 1]

/**
 * Reports failed requests by the ids that their senders know. Failures that every request may meet get a few lines a second and are counted beyond
 * that: they would fill the disk that the output goes to, and hide what else is said.
 */
export function createFailureReport(ticks: Ticks): (failure: RequestFailure) => void {
  const options = { policy: 'lines', perSecond: linesPerSecond, burst: linesBurst, bucketsMax: 1 }
  const lines = createTokenBuckets({ ...options, ticks })
  let untold = 0
  return ({ requestId, method, path, error }) => {
    if (isOperatingFailure(error) && !lines.take('').allowed) {
      untold += 1
      return
    }
    const others = untold === 0 ? '' : `; so did ${untold} more since the last such line`
    untold = 0
    console.error(`${method} ${JSON.stringify(path)} failed (request ${requestId})${others}: ${explain(error)}`)
  }
}

/** 2: the settings are wrong. 1: anything else. */
export const exitCodeOf = (error: unknown): number => (error instanceof ConfigError ? 2 : 1)
