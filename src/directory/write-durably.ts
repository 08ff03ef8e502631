import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'

/** Makes sure that what was created in or renamed into a folder is there after a power loss. */
export function syncFolder(folder: string): void {
  // Windows cannot open a folder, and keeps its entries by itself.
  if (process.platform === 'win32') return
  const descriptor = openSync(folder, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/** Writes a new file that only the owner may read, and returns when it is on disk. Refuses to replace one. */
export function writeDurably(file: string, text: string): void {
  const descriptor = openSync(file, 'wx', 0o600)
  try {
    writeSync(descriptor, text)
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
  syncFolder(dirname(file))
}
