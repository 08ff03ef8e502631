import { existsSync } from 'node:fs'
import { clusterSecretsFile } from '#src/directory/cluster-secrets.ts'

/** Warns of a log that a cluster has too: a supervisor may start the old server again after a boot, and senders may still know it. */
export function tellMoved(dataFolder: string): void {
  const file = clusterSecretsFile(dataFolder)
  if (!existsSync(file)) return
  console.error(
    `${file} is of a "throughline move-log": what is sent to this server from now on is not in that cluster. Stop it, ` +
      'or remove this file where that cluster is not used',
  )
}
