/** Result codes of SQLite that are told apart here (https://www.sqlite.org/rescode.html). */
export const sqliteCodes = {
  busy: 5,
  locked: 6,
  noMemory: 7,
  readOnly: 8,
  ioError: 10,
  corrupt: 11,
  full: 13,
  cannotOpen: 14,
  notADatabase: 26,
} as const

/** The file ends before a page it should have. */
const shortRead = sqliteCodes.ioError | (2 << 8)
/** The file that connections of a WAL share could not be opened, or not be made as large as it must be. */
const noSharedFile: readonly number[] = [sqliteCodes.ioError | (18 << 8), sqliteCodes.ioError | (19 << 8)]

/** The extended result code of an error of `node:sqlite`; undefined for any other error. */
const extendedCodeOf = (error: unknown): number | undefined =>
  error instanceof Error && 'errcode' in error && typeof error.errcode === 'number' ? error.errcode : undefined

/** Its primary result code. */
export function sqliteCodeOf(error: unknown): number | undefined {
  const code = extendedCodeOf(error)
  return code === undefined ? undefined : code & 0xff
}

/** Another connection holds the lock. */
export function isBusy(error: unknown): boolean {
  const code = sqliteCodeOf(error)
  return code === sqliteCodes.busy || code === sqliteCodes.locked
}

/** The file does not hold what was written: it is damaged, no database at all, or shorter than it says. */
export function isCorrupt(error: unknown): boolean {
  const code = sqliteCodeOf(error)
  return code === sqliteCodes.corrupt || code === sqliteCodes.notADatabase || extendedCodeOf(error) === shortRead
}

/** The disk is full, so that connections cannot share a WAL; one alone needs no such file. */
export const hasNoRoomToShare = (error: unknown): boolean => noSharedFile.includes(extendedCodeOf(error) ?? 0)

export const isDiskFull = (error: unknown): boolean =>
  sqliteCodeOf(error) === sqliteCodes.full || hasNoRoomToShare(error)

/** What an operator can do about an error, whatever file it is about. */
export const sqliteHints = {
  readOnly: 'this user may not write it: check its owner and mode, and how its disk is mounted',
  diskFull: 'the disk is full: free some space',
  disk: 'check the disk, and whether it is full',
} as const
