import { closeSync, existsSync, fstatSync, openSync } from 'node:fs'

/** Reads a file that may not exist. Throws the file system's errors. */
export function withFile<T>(file: string, task: (descriptor: number, bytes: number) => T): T | undefined {
  if (!existsSync(file)) return undefined
  const descriptor = openSync(file, 'r')
  try {
    return task(descriptor, fstatSync(descriptor).size)
  } finally {
    closeSync(descriptor)
  }
}
