import { ConfigError } from '#src/config.ts'
import type { RequestFailure } from '#src/http/app.ts'
import { isOperatingFailure } from '#src/lib/failure.ts'

/** A failure that the operator can act on is told in its own words; anything else with its stack. */
export function explain(error: unknown): string {
  if (error instanceof ConfigError || isOperatingFailure(error)) return error.message
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}

/** Tells the operator of a request that failed, whose sender knows its id: in one line where a disk is full, say, which each request meets. */
export function reportFailure({ requestId, method, path, error }: RequestFailure): void {
  console.error(`${method} ${JSON.stringify(path)} failed (request ${requestId}): ${explain(error)}`)
}

/** 2: the settings are wrong. 1: anything else. */
export const exitCodeOf = (error: unknown): number => (error instanceof ConfigError ? 2 : 1)
