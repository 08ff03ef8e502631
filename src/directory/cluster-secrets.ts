import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { writeDurably } from '#src/lib/durable-files.ts'
import { shellQuote } from '#src/lib/shell-quote.ts'
import type { Secrets } from './secrets.ts'

export const clusterSecretsFile = (dataFolder: string): string => join(dataFolder, 'cluster.env')

/** A value written so that shells, systemd and Docker read it alike; quoted for a shell if that is impossible. */
const valueOf = (text: string): string => (/^[\w.,:+/=-]+$/.test(text) ? text : shellQuote(text))

/**
 * Writes `cluster.env` into the folder (mode 0600), one variable per line: the secrets that every process of a cluster needs so that the
 * keys and sign-ins of this data folder keep working there. Returns its path.
 */
export function writeClusterSecrets(dataFolder: string, { pepper, sessionKeys }: Secrets): string {
  const file = clusterSecretsFile(dataFolder)
  rmSync(file, { force: true })
  writeDurably(file, `KEY_PEPPER=${valueOf(pepper)}\nSESSION_KEYS=${valueOf(sessionKeys.join(','))}\n`)
  return file
}
