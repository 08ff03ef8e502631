import { statfsSync, type StatsFs } from 'node:fs'

type Blocks = Pick<StatsFs, 'bavail' | 'blocks' | 'bsize'>

/**
 * Bytes that are free on the disk of a folder, as `df` says. To root, too: of what ext4 keeps for root it names some megabytes that root cannot have
 * either. Undefined where nobody says, as of some network and FUSE file systems, which answer that they have no blocks at all, or nothing: who writes
 * finds out.
 */
export function bytesLeftIn(folder: string, ask: (folder: string) => Blocks = statfsSync): number | undefined {
  try {
    const disk = ask(folder)
    return disk.blocks === 0 ? undefined : disk.bavail * disk.bsize
  } catch {
    return undefined
  }
}
