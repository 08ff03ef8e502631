import { randomBytes } from 'node:crypto'
import { GenericContainer, getContainerRuntimeClient } from 'testcontainers'
import { startContainer } from './docker.ts'
import type { Engine } from './engine.ts'
import { onFreePorts } from './free-ports.ts'
import { elasticsearchImage } from './images.ts'
import { elasticsearchProbe } from './probe.ts'

/** An Elasticsearch in a container: see `startNativeElasticsearch`. */
export async function startDockerElasticsearch(jvmOptions: string): Promise<Engine> {
  const client = await getContainerRuntimeClient()
  const password = randomBytes(16).toString('hex')
  return onFreePorts(1, ([port = 0]) => {
    const address = `${client.info.containerRuntime.host}:${port}`
    const container = new GenericContainer(elasticsearchImage)
      .withExposedPorts({ container: 9200, host: port })
      .withEnvironment({
        ELASTIC_PASSWORD: password,
        ES_JAVA_OPTS: jvmOptions,
        'discovery.type': 'single-node',
        'path.repo': '/tmp/snapshots',
        'xpack.security.http.ssl.enabled': 'false',
        'xpack.ml.enabled': 'false',
        'ingest.geoip.downloader.enabled': 'false',
        'cluster.routing.allocation.disk.threshold_enabled': 'false',
        'cluster.max_shards_per_node': '10000',
      })
    return startContainer(
      container,
      `http://elastic:${password}@${address}`,
      elasticsearchProbe(address, `elastic:${password}`),
    )
  })
}
