import { closeSync, existsSync, fsyncSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

function sync(path: string, flags: 'r' | 'r+'): void {
  const descriptor = openSync(path, flags)
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/** Makes sure that what was written to a file is there after a power loss. */
export const syncFile = (file: string): void => sync(file, 'r+')

/** Makes sure that what was created in, renamed into or removed from a folder is so after a power loss. */
export function syncFolder(folder: string): void {
  // Windows cannot open a folder, and keeps its entries by itself.
  if (process.platform !== 'win32') sync(folder, 'r')
}

/**
 * Writes a file that only its owner may read, and returns when all of it is on the disk. `flags` as for fopen(3): the default refuses to replace
 * a file.
 */
export function writeDurably(file: string, text: string, flags: 'w' | 'wx' = 'wx'): void {
  const descriptor = openSync(file, flags, 0o600)
  try {
    // `writeSync` would write only what there is room for, without an error.
    writeFileSync(descriptor, text)
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
  syncFolder(dirname(file))
}

/** Removes a file where there is one, and returns when it stays removed after a power loss. */
export function removeDurably(file: string): void {
  if (!existsSync(file)) return
  rmSync(file, { force: true })
  syncFolder(dirname(file))
}
