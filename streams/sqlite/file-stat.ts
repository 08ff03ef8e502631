import { statSync } from 'node:fs'

/** Which file has a name now; undefined where none has. Exact, also where a file system numbers beyond 2^53. */
export const inodeOf = (path: string): bigint | undefined =>
  statSync(path, { bigint: true, throwIfNoEntry: false })?.ino

export const isFile = (file: string): boolean => statSync(file, { throwIfNoEntry: false })?.isFile() === true

/** 0 where there is none. */
export const bytesOf = (file: string): number => statSync(file, { throwIfNoEntry: false })?.size ?? 0
