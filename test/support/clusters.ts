import { randomBytes } from 'node:crypto'
import { readClusterConfig, type ClusterConfig } from '#src/config.ts'
import { present } from '#src/lib/assert.ts'
import { askApi } from '#streams/jetstream/api.ts'
import { connectNats } from '#streams/jetstream/connect.ts'
import { removeIndices } from './elasticsearch.ts'
import { engines, type Engines } from './engines.ts'

/** A cluster of a test: on the shared engines or on its own, under a name of its own. */
export type Cluster = Readonly<{
  /** What its processes and the command line are started with. */
  environment: Readonly<Record<string, string>>
  config: ClusterConfig
}>

/** By the data folder, which stands for the installation in both forms; a cluster keeps only its first run there. */
const clusters = new Map<string, Cluster>()

const configOf = (environment: Cluster['environment']): ClusterConfig =>
  present(readClusterConfig(environment), 'both engines are named')

export const clusterAt = (dataFolder: string): Cluster | undefined => clusters.get(dataFolder)

export type ClusterOptions = Readonly<{
  /** The shared engines, if no others are given. */
  on?: Engines
  /** Two, unless it is about how they are shared out: four cost the engines half as much again, also while nothing is sent. */
  partitions?: number
}>

/** The cluster of a data folder, the same one each time. */
export async function bringCluster(dataFolder: string, { on, partitions = 2 }: ClusterOptions = {}): Promise<Cluster> {
  const { natsUrl, elasticsearchUrl } = on ?? (await engines())
  const secret = (): string => randomBytes(32).toString('hex')
  const environment = {
    NATS_URL: natsUrl,
    NATS_SYNC_ALWAYS: '1',
    ELASTICSEARCH_URL: elasticsearchUrl,
    // Tests wait for what they have sent, again and again.
    INDEX_REFRESH_MS: '20',
    INDEX_REPLICAS: '0',
    PARTITIONS: String(partitions),
    INDEX_PREFIX: `t${randomBytes(6).toString('hex')}`,
    SESSION_KEYS: secret(),
    KEY_PEPPER: secret(),
  }
  const made = { environment, config: configOf(environment) }
  const cluster = clusters.get(dataFolder) ?? made
  clusters.set(dataFolder, cluster)
  return cluster
}

/** The cluster of a data folder is one that runs already, and stays when the folder goes. */
export function joinCluster(dataFolder: string, environment: Cluster['environment']): void {
  clusters.set(dataFolder, { environment, config: configOf(environment) })
}

export const leaveCluster = (dataFolder: string): void => void clusters.delete(dataFolder)

type Names = readonly string[]

async function removeStreams({ natsUrl, indexPrefix }: ClusterConfig): Promise<void> {
  const nats = await connectNats({ url: natsUrl })
  // As many as one answer holds: other tests' streams are among them.
  for (let offset = 0; ;) {
    const listed = await askApi(nats, 'STREAM.NAMES', { offset })
    const names = ('answer' in listed ? (listed.answer['streams'] as Names | null) : undefined) ?? []
    const ours = names.filter((name) => name.startsWith(`${indexPrefix}-`))
    for (const name of ours) await askApi(nats, `STREAM.DELETE.${name}`)
    if (names.length === 0) break
    offset += names.length - ours.length
  }
  await nats.close()
}

/** Removes what the cluster of a data folder has in the engines, if there is one. */
export async function removeCluster(dataFolder: string): Promise<void> {
  const cluster = clusters.get(dataFolder)
  if (cluster === undefined) return
  clusters.delete(dataFolder)
  const { elasticsearchUrl, indexPrefix } = cluster.config
  await Promise.all([removeStreams(cluster.config), removeIndices(elasticsearchUrl, indexPrefix)])
}
