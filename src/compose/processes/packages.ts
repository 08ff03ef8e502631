import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ourFolder = fileURLToPath(new URL('../../..', import.meta.url))

/**
 * Whether package-lock.json differs from the one whose packages the launcher (infra/launch) installed: a worker of new sources would run on
 * the old packages. Without the launcher that is unknown, and the packages are assumed to be right.
 */
export function arePackagesStale(): boolean {
  const stamp = join(ourFolder, 'node_modules', '.throughline-lock')
  const lockfile = join(ourFolder, 'package-lock.json')
  if (!existsSync(stamp) || !existsSync(lockfile)) return false
  return readFileSync(stamp, 'utf8') !== createHash('sha256').update(readFileSync(lockfile)).digest('hex')
}
