import { existsSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { TransientError } from '#src/lib/failure.ts'
import { diskObstacleIn } from '#src/lib/room-left.ts'

/**
 * Makes the folder of a file for its owner alone, in one that is there. Where that is gone, somebody has moved it or is removing it: in its
 * place nothing is made, which would be in the way when it is put back. Throws TransientError.
 */
export function makeFolderOf(path: string): void {
  const folder = dirname(path)
  try {
    mkdirSync(folder, { mode: 0o700 })
  } catch (cause) {
    if (existsSync(folder)) return
    const hint = 'the folder above it must be there, and be writable for this user, and its disk must have room'
    throw new TransientError({
      operation: 'make the folder',
      subject: folder,
      hint: diskObstacleIn(dirname(folder)) ?? hint,
      cause,
    })
  }
}
