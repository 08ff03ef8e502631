import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

/** The paths of what a task syncs, in order: of the files and folders that it has made. `onSync`: called before each. */
export async function syncedBy(
  task: () => Promise<unknown>,
  onSync: (path: string) => void = () => undefined,
): Promise<readonly string[]> {
  const synced: string[] = []
  const { fsyncSync } = fs
  fs.fsyncSync = (handle) => {
    const path = fs.readlinkSync(`/proc/self/fd/${handle}`)
    onSync(path)
    synced.push(path)
    fsyncSync(handle)
  }
  syncBuiltinESMExports()
  try {
    await task()
  } finally {
    fs.fsyncSync = fsyncSync
    syncBuiltinESMExports()
  }
  return synced
}
