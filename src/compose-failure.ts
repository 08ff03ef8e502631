import { ConfigError } from './config.ts'
import { PermanentError } from './lib/failure.ts'

/** A failure that the operator can act on is told in its own words; anything else with its stack. */
export function explain(error: unknown): string {
  if (error instanceof ConfigError || error instanceof PermanentError) return error.message
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}

/** 2: the settings are wrong. 1: anything else. */
export const exitCodeOf = (error: unknown): number => (error instanceof ConfigError ? 2 : 1)
