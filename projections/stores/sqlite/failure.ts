import { dirname } from 'node:path'
import { PermanentError, TransientError } from '#src/lib/failure.ts'
import { bytesLeftIn, diskObstacleIn } from '#src/lib/room-left.ts'
import { isCorrupt, isDiskFull, sqliteCodeOf, sqliteCodes, sqliteHints } from '#src/lib/sqlite-errors.ts'
import { unwritableOf } from '#src/lib/unwritable.ts'

const { busy, locked, noMemory, readOnly, ioError, full, cannotOpen } = sqliteCodes

/** Failures that may pass; a file cannot be opened where the process has no handle left. */
const passing: ReadonlySet<number> = new Set([busy, locked, noMemory, ioError, full, cannotOpen])

/** Of an error that `guarded` threw. */
export const isDamage = (error: unknown): boolean => error instanceof Error && isCorrupt(error.cause)

const remedies: Readonly<Record<number, string>> = {
  // It is not tried again.
  [readOnly]: `${sqliteHints.readOnly}; a server that runs folds it again once it is restarted (SIGHUP)`,
  [ioError]: sqliteHints.disk,
  [cannotOpen]:
    'it and its folder must be there and writable for this user: check owner and mode; or too few files may be open (ulimit -n)',
}

/** What is sorted, as by `verify`, may take files elsewhere. So much is free where the disk of a file is hardly the one that is full. */
const roomBytes = 1_048_576
const elsewhere =
  'or, since that has room now, on the disk of temporary files (SQLITE_TMPDIR, else TMPDIR, else /var/tmp)'

/** What is asked of the disk that a folder is on. */
export type AskDisk = Readonly<{ obstacleIn: typeof diskObstacleIn; bytesLeftIn: typeof bytesLeftIn }>
const askDisk: AskDisk = { obstacleIn: diskObstacleIn, bytesLeftIn }

function roomHint(path: string, cause: unknown, ask: AskDisk): string {
  const hasRoom = sqliteCodeOf(cause) === full && (ask.bytesLeftIn(dirname(path)) ?? 0) >= roomBytes
  return hasRoom ? `${sqliteHints.diskFull}; ${elsewhere}` : sqliteHints.diskFull
}

/** What the operator can do about it. The log can restore whatever an index holds. */
function hintOf(path: string, cause: unknown, ask: AskDisk): { hint?: string } {
  if (isCorrupt(cause)) {
    const remedy = 'throughline rebuild folds its index again; where it cannot, stop the server and start it again'
    return { hint: `damaged: ${remedy}` }
  }
  if (isDiskFull(cause)) return { hint: roomHint(path, cause, ask) }
  const code = sqliteCodeOf(cause) ?? 0
  const obstacle = code === cannotOpen ? ask.obstacleIn(dirname(path)) : undefined
  const hint = obstacle ?? remedies[code]
  return hint === undefined ? {} : { hint }
}

/** What to throw for what an operation of the engine has thrown: its errors as ours. */
export function failureOf(operation: string, subject: string, cause: unknown, ask = askDisk): unknown {
  const code = sqliteCodeOf(cause)
  if (code === undefined) return cause
  const isPassing = passing.has(code) && !isCorrupt(cause)
  const named = code === readOnly ? unwritableOf(subject) : subject
  return new (isPassing ? TransientError : PermanentError)({
    operation,
    subject: named,
    cause,
    ...hintOf(subject, cause, ask),
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
