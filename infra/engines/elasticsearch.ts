import type { Engine } from './engine.ts'
import { startNativeElasticsearch } from './native-elasticsearch.ts'
import { provider } from './provider.ts'

type ElasticsearchOptions = Readonly<{
  /** Of the JVM, as it takes it. */
  heap?: string
  /** For minutes: its code is compiled quickly instead of well. Else a JVM spends half of such a life on compiling. */
  isBrief?: boolean
}>

const quickCompiler = '-XX:TieredStopAtLevel=1'

/** An Elasticsearch of our own, to be stopped, killed and started again: one node, security on, the user `elastic`. */
export async function startElasticsearch(options: ElasticsearchOptions = {}): Promise<Engine> {
  const { heap = '512m', isBrief = false } = options
  const jvmOptions = [`-Xms${heap}`, `-Xmx${heap}`, ...(isBrief ? [quickCompiler] : [])].join(' ')
  if ((await provider()) === 'native') return startNativeElasticsearch(jvmOptions)
  const { startDockerElasticsearch } = await import('./docker-elasticsearch.ts')
  return startDockerElasticsearch(jvmOptions)
}
