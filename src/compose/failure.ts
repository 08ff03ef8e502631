import { ConfigError } from '#src/config.ts'
import type { RequestFailure } from '#src/http/app.ts'
import { createTokenBuckets } from '#src/http/token-buckets.ts'
import type { Ticks } from '#src/lib/clock.ts'
import { isOperatingFailure } from '#src/lib/failure.ts'
import { shownInLine, shownSafely } from '#src/lib/shown-safely.ts'

/** The system gives this user no more threads. */
const isWithoutThreads = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_INIT_FAILED'

/** Only the message of a failure the operator can act on, in one line where it is not of all settings; anything else with its stack. */
export function explain(error: unknown): string {
  if (isWithoutThreads(error))
    return `start a thread: ${(error as Error).message} (this user, or its service, may have no more: raise ulimit -u, or TasksMax)`
  if (isOperatingFailure(error)) return shownInLine(error.message)
  if (error instanceof ConfigError) return shownSafely(error.message)
  return shownSafely(error instanceof Error ? (error.stack ?? error.message) : String(error))
}

/** Of failures that every request may meet, such as a full disk: lines at once, and then each second. */
const [linesBurst, linesPerSecond] = [20, 1]

/**
 * Reports failed requests, whose senders know their ids. One line for each that every request may meet, but not for so many that they fill the disk
 * that the output goes to, and hide what else is said: then they are counted.
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
