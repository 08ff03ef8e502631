import { readFileSync } from 'node:fs'

/** The version of this program, from its package. */
export function ownVersion(): string {
  const packageFile = new URL('../../package.json', import.meta.url)
  const { version } = JSON.parse(readFileSync(packageFile, 'utf8')) as { version: string }
  return version
}
