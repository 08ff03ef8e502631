import { statfsSync, type StatsFs } from 'node:fs'

/** Some disks keep blocks for root, which `df` does not count as free: to root they are. */
const ofUser = process.getuid?.() === 0 ? 'bfree' : 'bavail'

type Blocks = Pick<StatsFs, 'bavail' | 'bfree' | 'blocks' | 'bsize'>

/**
 * Bytes that this user may still write on the disk of a folder. Undefined where nobody says, as of some network and FUSE file systems, which answer
 * that they have no blocks at all, or nothing: who writes finds out.
 */
export function bytesLeftIn(folder: string, ask: (folder: string) => Blocks = statfsSync): number | undefined {
  try {
    const disk = ask(folder)
    return disk.blocks === 0 ? undefined : disk[ofUser] * disk.bsize
  } catch {
    return undefined
  }
}
