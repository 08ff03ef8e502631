/** The suffixes of the files SQLite keeps beside a database. */
export const sides = ['-wal', '-shm', '-journal'] as const

// Files beside a log while it is mended (mending/mend.ts).

/** The new log, made from a damaged one. */
export const nextOf = (file: string): string => `${file}.next`
/** Once it exists, the new log must replace the damaged one. */
export const movingOf = (file: string): string => `${file}.moving`
