import { statSync } from 'node:fs'

/** Which file has this name now; undefined if none has. A bigint, because some file systems use numbers beyond 2^53. */
export const inodeOf = (path: string): bigint | undefined =>
  statSync(path, { bigint: true, throwIfNoEntry: false })?.ino

export const isFile = (file: string): boolean => statSync(file, { throwIfNoEntry: false })?.isFile() === true

/** 0 if there is no such file. */
export const bytesOf = (file: string): number => statSync(file, { throwIfNoEntry: false })?.size ?? 0

/** Changes when somebody writes to a database in WAL mode. */
export const stateOf = (file: string): string =>
  ['', '-wal']
    .map((side) => statSync(`${file}${side}`, { throwIfNoEntry: false }))
    .map((stat) => `${stat?.ino} ${stat?.size} ${stat?.mtimeMs}`)
    .join()
