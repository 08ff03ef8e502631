import { existsSync } from 'node:fs'
import { clusterSecretsFile } from '#src/directory/cluster-secrets.ts'

const ofServer = ['what is sent to this server from now on is not in that cluster', 'Stop it']
const ofVerb = ['what is changed here is not changed in that cluster', 'Name that cluster in NATS_URL']

function tell(dataFolder: string, [what = '', advice = '']: readonly string[]): void {
  const file = clusterSecretsFile(dataFolder)
  if (!existsSync(file)) return
  console.error(
    `${file} is of a "throughline move-log": ${what}. ${advice}, or remove this file where that cluster is not used`,
  )
}

/** Warns of a log that a cluster has too: a supervisor may start the old server again after a boot, and senders may still know it. */
export const tellMoved = (dataFolder: string): void => tell(dataFolder, ofServer)

/** The same to whoever makes keys, users or workspaces from the command line, which asks the data folder as long as it is not told of the cluster. */
export const tellMovedBeside = (dataFolder: string): void => tell(dataFolder, ofVerb)
