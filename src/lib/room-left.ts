import { accessSync, constants, statfsSync, type StatsFs } from 'node:fs'

type Blocks = Pick<StatsFs, 'bavail' | 'blocks' | 'bsize'>
type Files = Pick<StatsFs, 'files' | 'ffree'>

/**
 * Free bytes on the disk of a folder, as `df` says. For root too: of what ext4 reserves for root, some megabytes cannot be had either. Undefined if
 * the file system does not say, like some network and FUSE ones, which report no blocks at all: whoever writes there finds out.
 */
export function bytesLeftIn(folder: string, ask: (folder: string) => Blocks = statfsSync): number | undefined {
  try {
    const disk = ask(folder)
    return disk.blocks === 0 ? undefined : disk.bavail * disk.bsize
  } catch {
    return undefined
  }
}

/** How many files can still be made there, as `df -i` says. Undefined where nobody says, or the disk has no such bound, as Btrfs. */
export function filesLeftIn(folder: string, ask: (folder: string) => Files = statfsSync): number | undefined {
  try {
    const { files, ffree } = ask(folder)
    return files === 0 ? undefined : ffree
  } catch {
    return undefined
  }
}

function isReadOnly(folder: string, access: typeof accessSync): boolean {
  try {
    access(folder, constants.W_OK)
    return false
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EROFS'
  }
}

/** What of its disk keeps anybody from making a file in a folder, which SQLite takes for a file that it cannot open. Undefined where nothing does. */
export function diskObstacleIn(folder: string, { ask = statfsSync, access = accessSync } = {}): string | undefined {
  if (isReadOnly(folder, access)) return 'its disk is mounted read-only: see what the system says of it'
  if (filesLeftIn(folder, ask) === 0) return 'its disk has no inode left for another file (df -i): remove files there'
  return undefined
}
