import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'

/** Makes sure that what was created in, renamed into or removed from a folder is so after a power loss. */
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

/**
 * Writes a file that only its owner may read, and returns when it is on the disk. `flags` as for open(2): by themselves they refuse to
 * replace a file.
 */
export function writeDurably(file: string, text: string, flags: 'w' | 'wx' = 'wx'): void {
  const descriptor = openSync(file, flags, 0o600)
  try {
    writeSync(descriptor, text)
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
  syncFolder(dirname(file))
}
