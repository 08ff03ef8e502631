import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ourFolder = fileURLToPath(new URL('../../..', import.meta.url))

/**
 * Whether package-lock.json is another than the one whose packages the launcher (infra/launch) has installed: a worker of new sources would
 * run on them. Where the packages were installed without the launcher nobody knows, and they are taken to be right.
 */
export function arePackagesStale(): boolean {
  const stamp = join(ourFolder, 'node_modules', '.throughline-lock')
  const lockfile = join(ourFolder, 'package-lock.json')
  if (!existsSync(stamp) || !existsSync(lockfile)) return false
  return readFileSync(stamp, 'utf8') !== createHash('sha256').update(readFileSync(lockfile)).digest('hex')
}
