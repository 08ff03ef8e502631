/** What SQLite has beside a database, by how it is called. */
export const sides = ['-wal', '-shm', '-journal'] as const

// What stands beside a log while it is mended (mending/mend.ts).

/** The new log that is made of a damaged one. */
export const nextOf = (file: string): string => `${file}.next`
/** Says from when on that must come into its place. */
export const movingOf = (file: string): string => `${file}.moving`
