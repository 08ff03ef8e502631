import { existsSync } from 'node:fs'
import { PermanentError } from '#src/lib/failure.ts'
import { stateOf } from '../file-stat.ts'
import { movingOf } from '../side-files.ts'
import { readWal } from './wal-file.ts'

/** Somebody may write to the WAL while it is read. */
const attemptsMax = 3

/** What is damaged in the WAL of a log, if it still is on a second look while nobody writes to it. */
function walDamageOf(file: string): string | undefined {
  for (let attempt = 1; attempt <= attemptsMax; attempt++) {
    const before = stateOf(file)
    const damage = readWal(file)?.damage
    if (damage === undefined) return undefined
    if (stateOf(file) === before && readWal(file)?.damage === damage) return damage
  }
  return undefined
}

/**
 * Throws PermanentError for a log that a start would mend first (mend.ts). SQLite ignores what stands behind a damaged frame of a WAL, and removes
 * the WAL when its last connection is closed; and what is appended to a log that is being replaced is lost. `damageOf`: what to look for; the damage of
 * its WAL, if nothing is said. Changes nothing.
 */
export function refuseUnmended(
  file: string,
  operation: string,
  damageOf: (file: string) => string | undefined = walDamageOf,
): void {
  const isMoving = existsSync(movingOf(file))
  const damage = isMoving ? 'it was damaged, and is being set aside' : damageOf(file)
  if (damage === undefined) return
  const hint = `${damage}: start the server first, which saves all that can be read of it`
  throw new PermanentError({ operation, subject: file, hint })
}
