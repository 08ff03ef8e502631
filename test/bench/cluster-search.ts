import { startRecordingProxy } from '#test/support/recording-proxy.ts'
import { BenchFailure, type BenchClient } from './bench-client.ts'
import { withCluster, type Cluster } from './cluster-form.ts'
import { startDriver } from './drive.ts'
import type { Section } from './report.ts'
import type { BenchContext } from './scale.ts'
import { searchSection, type SearchStage } from './search.ts'

type Request = Readonly<{ method: string; path: string; body?: string }>

function requestOf(text: string): Request {
  const [, method = 'GET', path = '/', body] = /^(\S+) (\S+)(?:\n(.*))?$/s.exec(text) ?? []
  return { method, path, ...(body === undefined ? {} : { body }) }
}

async function ask(url: string, { method, path, body }: Request): Promise<void> {
  const { origin, username, password } = new URL(url)
  const authorization = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
  const headers = { authorization, 'content-type': 'application/json' }
  const response = await fetch(origin + path, { method, headers, ...(body === undefined ? {} : { body }) })
  await response.arrayBuffer()
  if (!response.ok) throw new BenchFailure(`Elasticsearch answered ${response.status} to ${method} ${path}`)
}

type Engine = Readonly<{ time: NonNullable<SearchStage['engine']>; close(): Promise<void> }>

/** Asks Elasticsearch itself what a query process asks it for a search: heard by another one, through a proxy that writes it down. */
async function createEngine(cluster: Cluster, { cookie }: BenchClient): Promise<Engine> {
  const { elasticsearchUrl } = cluster.config
  const proxy = await startRecordingProxy(elasticsearchUrl)
  const baseUrl = await cluster.startBeside('query', { ELASTICSEARCH_URL: proxy.url })
  const requestsOf = async (path: string): Promise<readonly Request[]> => {
    proxy.take()
    const response = await fetch(baseUrl + path, { headers: { cookie } })
    await response.arrayBuffer()
    if (response.status !== 200) throw new BenchFailure(`GET ${path} answered ${response.status}`)
    return proxy.take().map(requestOf)
  }
  return {
    async time(paths, atLeast) {
      const asked = []
      for (const path of paths) asked.push(await requestsOf(path))
      // One round that is not counted, as for the searches themselves.
      for (const request of asked.flat()) await ask(elasticsearchUrl, request)
      const latencies = new Float64Array(Math.max(1, Math.ceil(atLeast / paths.length)) * paths.length)
      for (const index of latencies.keys()) {
        const began = performance.now()
        for (const request of asked[index % asked.length] ?? []) await ask(elasticsearchUrl, request)
        latencies[index] = performance.now() - began
      }
      return { name: 'its requests to Elasticsearch, in turn', latencies: latencies.sort() }
    },
    close: () => proxy.close(),
  }
}

/** What a search of a cluster takes, over HTTP, one at a time. */
export async function benchClusterSearch(context: BenchContext): Promise<readonly Section[]> {
  const driver = startDriver()
  try {
    context.say('starting a cluster')
    return await withCluster({ roles: ['ingest', 'project', 'query'] }, async (cluster) => {
      const server = await cluster.client()
      const engine = await createEngine(cluster, server)
      const stage = { driver, server, of: 'Cluster: searches', hasTargets: false, engine: engine.time }
      const section = await searchSection(context, stage)
      await engine.close()
      return [section]
    })
  } finally {
    driver.stop()
  }
}
