import { closeSync, existsSync, fstatSync, openSync } from 'node:fs'

/** Reads a file that may not be there. Throws what the file system does. */
export function withFile<T>(file: string, task: (descriptor: number, bytes: number) => T): T | undefined {
  if (!existsSync(file)) return undefined
  const descriptor = openSync(file, 'r')
  try {
    return task(descriptor, fstatSync(descriptor).size)
  } finally {
    closeSync(descriptor)
  }
}
