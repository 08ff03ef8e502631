import { setTimeout as sleep } from 'node:timers/promises'
import { stringifyJson } from '#src/lib/json.ts'
import { otlpJson } from '#test/support/telemetry.ts'
import { BenchFailure, type BenchClient, type Kind } from './bench-client.ts'
import type { Cluster } from './cluster-form.ts'

const lookEveryMs = 10
const patienceMs = 60_000

/** One record that nothing else is like: how it is sent, and where it is looked for. */
type Mark = Readonly<{ path: string; body: string; search: string; list: 'traces' | 'logs' }>

function markOf(kind: Kind, number: number): Mark {
  if (kind === 'logs') {
    const word = `freshnessmark${number}`
    const body = stringifyJson({ message: word, service: 'bench' })
    return { path: '/api/logs/v1/ingest', body, search: `/api/app/logs/search?limit=1&q=${word}`, list: 'logs' }
  }
  const traceId = (number + 1).toString(16).padStart(32, 'f')
  const startNs = BigInt(Date.now()) * 1_000_000n
  const span = { traceId, spanId: 'f'.repeat(16), name: 'mark', startNs, endNs: startNs + 1_000_000n }
  const search = `/api/app/traces/search?limit=1&trace_id=${traceId}`
  return { path: '/api/traces/v1/otlp', body: otlpJson([span]), search, list: 'traces' }
}

/** Milliseconds from the ack of one record until a search over HTTP finds it. */
async function freshnessOf(cluster: Cluster, client: BenchClient, kind: Kind, number: number): Promise<number> {
  const { path, body, search, list } = markOf(kind, number)
  const authorization = `Bearer ${cluster.prepared.keys[kind][0]}`
  const headers = { 'content-type': 'application/json', authorization }
  const answer = await fetch(cluster.ingestUrl + path, { method: 'POST', headers, body })
  const text = await answer.text()
  if (answer.status !== 200) throw new BenchFailure(`a marked record was answered ${answer.status} ${text}`)
  const acknowledged = performance.now()
  while (performance.now() - acknowledged < patienceMs) {
    const found = (await client.get(search))[list]
    const waited = performance.now() - acknowledged
    if (Array.isArray(found) && found.length === 1) return waited
    await sleep(lookEveryMs)
  }
  throw new BenchFailure(`a marked record was not found for ${patienceMs} ms: ${search}`)
}

/** One after the other, until `load` has ended; sorted. */
export async function sampleFreshness(
  cluster: Cluster,
  client: BenchClient,
  kind: Kind,
  load: Promise<unknown>,
): Promise<Float64Array> {
  const found: number[] = []
  const loaded = new AbortController()
  const ended = load.finally(() => loaded.abort())
  ended.catch(() => undefined)
  do found.push(await freshnessOf(cluster, client, kind, found.length))
  while (!loaded.signal.aborted)
  await ended
  return Float64Array.from(found).sort()
}
