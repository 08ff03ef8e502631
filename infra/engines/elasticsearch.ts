import type { Engine } from './engine.ts'
import { startNativeElasticsearch } from './native-elasticsearch.ts'
import { provider } from './provider.ts'

/** `heap`: of the JVM, as it takes it. */
export type ElasticsearchOptions = Readonly<{ heap?: string }>

/** An Elasticsearch of our own, to be stopped, killed and started again: one node, security on, the user `elastic`. */
export async function startElasticsearch({ heap = '512m' }: ElasticsearchOptions = {}): Promise<Engine> {
  if ((await provider()) === 'native') return startNativeElasticsearch(heap)
  const { startDockerElasticsearch } = await import('./docker-elasticsearch.ts')
  return startDockerElasticsearch(heap)
}
