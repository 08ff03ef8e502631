import { statSync } from 'node:fs'

/** Which file has a name now; undefined where none has. Exact, also where a file system numbers beyond 2^53. */
export const inodeOf = (path: string): bigint | undefined =>
  statSync(path, { bigint: true, throwIfNoEntry: false })?.ino
