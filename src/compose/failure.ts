import { ConfigError } from '#src/config.ts'
import type { RequestFailure } from '#src/http/app.ts'
import { isOperatingFailure } from '#src/lib/failure.ts'

/** Only the message of a failure the operator can act on; anything else with its stack. */
export function explain(error: unknown): string {
  if (error instanceof ConfigError || isOperatingFailure(error)) return error.message
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}

/** Reports a failed request, whose sender knows its id. One line if every request may meet the failure, such as a full disk. */
export function reportFailure({ requestId, method, path, error }: RequestFailure): void {
  console.error(`${method} ${JSON.stringify(path)} failed (request ${requestId}): ${explain(error)}`)
}

/** 2: the settings are wrong. 1: anything else. */
export const exitCodeOf = (error: unknown): number => (error instanceof ConfigError ? 2 : 1)
