import { readdirSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'

/** What the descriptors of a process lead to: a path each, or another thing's name. Linux only. */
export function openPathsOf(pid: number): readonly string[] {
  const descriptors = `/proc/${pid}/fd`
  return readdirSync(descriptors).flatMap((name) => {
    try {
      return readlinkSync(join(descriptors, name))
    } catch {
      // It is closed by now, as the one of this look is.
      return []
    }
  })
}
