import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { writeDurably } from '#src/lib/durable-files.ts'
import type { Secrets } from './secrets.ts'

const fileName = 'cluster.env'

/** A value as shells, systemd and Docker read it alike; quoted for a shell where that cannot be. */
const valueOf = (text: string): string => (/^[\w.,:+/=-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`)

/**
 * Writes what every process of a cluster is to be started with, so that the keys and sign-ins of this data folder go on working there:
 * `cluster.env` in the folder (mode 0600), a variable a line. Answers where it is.
 */
export function writeClusterSecrets(dataFolder: string, { pepper, sessionKeys }: Secrets): string {
  const file = join(dataFolder, fileName)
  rmSync(file, { force: true })
  writeDurably(file, `KEY_PEPPER=${valueOf(pepper)}\nSESSION_KEYS=${valueOf(sessionKeys.join(','))}\n`)
  return file
}
