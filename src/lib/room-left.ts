import { statfsSync, type StatsFs } from 'node:fs'

type Blocks = Pick<StatsFs, 'bavail' | 'blocks' | 'bsize'>

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
