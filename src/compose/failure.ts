import { ConfigError } from '#src/config.ts'
import type { RequestFailure } from '#src/http/app.ts'
import { createTokenBuckets } from '#src/http/token-buckets.ts'
import type { Ticks } from '#src/lib/clock.ts'
import { isOperatingFailure } from '#src/lib/failure.ts'
import { shownSafely } from '#src/lib/shown-safely.ts'

function wordsOf(error: unknown): string {
  if (error instanceof ConfigError || isOperatingFailure(error)) return error.message
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}

/** Only the message of a failure the operator can act on; anything else with its stack. */
export const explain = (error: unknown): string => shownSafely(wordsOf(error))

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
