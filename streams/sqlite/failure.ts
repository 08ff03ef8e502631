import { dirname } from 'node:path'
import { isOperatingFailure, PermanentError, TransientError } from '#src/lib/failure.ts'
import { isBusy, isCorrupt, isDiskFull, sqliteCodeOf, sqliteCodes, sqliteHints } from '#src/lib/sqlite-errors.ts'
import { diskObstacleIn } from '#src/lib/room-left.ts'
import { unwritableOf } from '#src/lib/unwritable.ts'
import { isFile } from './file-stat.ts'
import { suspect } from './suspicion.ts'

/** The operating system refused permission. */
const isForbidden = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && ['EACCES', 'EPERM', 'EROFS'].includes(String(error.code))

/** After these the connection is still good: nothing was written, and the next attempt may succeed. */
export const isHarmless = (error: unknown): boolean => isBusy(error) || sqliteCodeOf(error) === sqliteCodes.full

/** A log is damaged. The next start of the server can mend it (mending/). */
class DamageError extends PermanentError {}

export function damageOf(
  file: string,
  { operation, hint, cause }: Readonly<{ operation: string; hint?: string; cause?: unknown }>,
): PermanentError {
  const remedy = 'stop the server and start it again: it sets the damaged log aside and goes on with what can be read'
  const text = hint === undefined ? remedy : `${hint}; ${remedy}`
  return new DamageError({ operation, subject: file, cause, hint: text })
}

/** The error to report. Damage also leaves a note, so that the next start checks the whole log. */
export function notedFailureOf(error: unknown, operation: string, file: string): TransientError | PermanentError {
  const failure = failureOf(error, operation, file)
  if (failure instanceof DamageError) suspect(file, failure.message)
  return failure
}

const unopenedHint = 'the folder must be there, and be writable for this user; or too few files may be open (ulimit -n)'

/** Turns the driver's error into ours, so that none leaves this folder. Our own errors pass through. */
export function failureOf(
  error: unknown,
  operation: string,
  file: string,
  obstacleIn = diskObstacleIn,
): TransientError | PermanentError {
  if (isOperatingFailure(error)) return error
  if (isCorrupt(error) && isFile(file)) return damageOf(file, { operation, cause: error })
  const context = { operation, subject: file, cause: error }
  if (isBusy(error)) return new TransientError({ ...context, hint: 'another process is writing to it' })
  if (isDiskFull(error)) return new TransientError({ ...context, hint: sqliteHints.diskFull })
  const code = sqliteCodeOf(error)
  if (code === sqliteCodes.readOnly || isForbidden(error)) {
    return new PermanentError({ ...context, subject: unwritableOf(file), hint: sqliteHints.readOnly })
  }
  const hint = code === sqliteCodes.cannotOpen ? unopenedHint : sqliteHints.disk
  return new PermanentError({ ...context, hint: obstacleIn(dirname(file)) ?? hint })
}
