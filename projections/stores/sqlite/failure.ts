import { PermanentError, TransientError } from '#src/lib/failure.ts'
import { isCorrupt, isDiskFull, sqliteCodeOf, sqliteCodes, sqliteHints } from '#src/lib/sqlite-errors.ts'
import { unwritableOf } from '#src/lib/unwritable.ts'

const { busy, locked, noMemory, readOnly, ioError, full, cannotOpen } = sqliteCodes

/** Failures that may pass; a file cannot be opened where the process has no handle left. */
const passing: ReadonlySet<number> = new Set([busy, locked, noMemory, ioError, full, cannotOpen])

/** Of an error that `guarded` threw. */
export const isDamage = (error: unknown): boolean => error instanceof Error && isCorrupt(error.cause)

const remedies: Readonly<Record<number, string>> = {
  [readOnly]: sqliteHints.readOnly,
  [ioError]: sqliteHints.disk,
  [cannotOpen]:
    'it and its folder must be there and writable for this user: check owner and mode; or too few files may be open (ulimit -n)',
}

/** What the operator can do about it. The log can restore whatever an index holds. */
function hintOf(cause: unknown, code: number): { hint?: string } {
  if (isCorrupt(cause)) {
    const remedy = 'throughline rebuild folds its index again; where it cannot, stop the server and start it again'
    return { hint: `damaged: ${remedy}` }
  }
  const hint = isDiskFull(cause) ? sqliteHints.diskFull : remedies[code]
  return hint === undefined ? {} : { hint }
}

/** What to throw for what an operation of the engine has thrown: its errors as ours. */
export function failureOf(operation: string, subject: string, cause: unknown): unknown {
  const code = sqliteCodeOf(cause)
  if (code === undefined) return cause
  const isPassing = passing.has(code) && !isCorrupt(cause)
  const named = code === readOnly ? unwritableOf(subject) : subject
  return new (isPassing ? TransientError : PermanentError)({
    operation,
    subject: named,
    cause,
    ...hintOf(cause, code),
  })
}

/** Runs an operation of the engine, and turns its errors into ours. */
export function guarded<T>(operation: string, subject: string, run: () => T): T {
  try {
    return run()
  } catch (cause) {
    throw failureOf(operation, subject, cause)
  }
}

/** Throws as `guarded` does where the engine finds a file damaged: `what` is wrong with it by our own reading. */
export const throwDamage = (path: string, what: string): never =>
  guarded('read', path, () => {
    throw Object.assign(new Error(what), { errcode: sqliteCodes.corrupt })
  })
