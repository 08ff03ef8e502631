import type { Elasticsearch } from '#projections/stores/elasticsearch/call.ts'
import { connectElasticsearch } from '#projections/stores/elasticsearch/client.ts'
import { isJsonObject, stringifyJson, type Json, type JsonObject } from '#src/lib/json.ts'
import { BenchFailure } from './bench-client.ts'
import type { Cluster } from './cluster-form.ts'

/** What Elasticsearch needs to take the documents of an index in, each once and nothing beside it. */
export type BulkLeast = Readonly<{
  documents: number
  /** CPU seconds of Elasticsearch, and seconds by the clock, for so many records as these documents are made of. */
  cpuPerMillion: number
  secondsPerMillion: number
}>

/** As the writer cuts its requests, and as many at once (projections/stores/elasticsearch/bulk.ts). */
const requestCharactersMax = 4 * 1024 * 1024
const requestsAtOnce = 2
/** Of more documents an even part is taken: the floor is to cost less than what it stands beside. */
const documentsMax = 100_000
const pageSize = 1_000

type Call = Readonly<{ method: 'GET' | 'POST' | 'PUT' | 'DELETE'; path: string; body?: object; lines?: string }>
type Ask = (call: Call) => Promise<JsonObject>

const objectAt = (value: Json | undefined, ...path: readonly string[]): JsonObject => {
  const found = path.reduce<Json | undefined>((inner, name) => (isJsonObject(inner) ? inner[name] : undefined), value)
  return isJsonObject(found) ? found : {}
}
const listAt = (value: JsonObject, name: string): readonly JsonObject[] => {
  const found = value[name]
  return Array.isArray(found) ? (found as readonly Json[]).filter(isJsonObject) : []
}

const createAsk =
  (elasticsearch: Elasticsearch): Ask =>
  async (call) =>
    (await elasticsearch.send({ operation: 'measure', subject: call.path, ...call })).body

const copyOf = (index: string): string => `floor-${index}`

/** An empty index that is set up as this one is. */
async function makeCopy(ask: Ask, index: string): Promise<void> {
  const found = objectAt(await ask({ method: 'GET', path: `/${index}` }), index)
  const settings = { ...objectAt(found, 'settings', 'index') }
  for (const own of ['creation_date', 'uuid', 'version', 'provided_name', 'resize', 'history']) delete settings[own]
  const body = { settings: { index: settings }, mappings: objectAt(found, 'mappings') }
  await ask({ method: 'PUT', path: `/${copyOf(index)}`, body })
}

function linesOf(hit: JsonObject): string {
  const { _index: index, _id, _routing: routing, _version: version, _source: source } = hit
  const action = { index: { _index: copyOf(String(index)), _id, routing, version, version_type: 'external' } }
  return `${stringifyJson(action)}\n${stringifyJson(source ?? {})}\n`
}

/** Bodies of bulk requests, cut as the writer cuts them. */
function createBodies() {
  const bodies: string[] = []
  let [lines, characters, documents] = [[] as string[], 0, 0]
  const cut = (): void => {
    if (lines.length > 0) bodies.push(lines.join(''))
    ;[lines, characters] = [[], 0]
  }
  return {
    add(text: string): void {
      if (characters + text.length > requestCharactersMax) cut()
      lines.push(text)
      characters += text.length
      documents++
    },
    take() {
      cut()
      return { bodies, documents }
    },
  }
}

/** The documents of an index, or one of so many even parts of them. */
async function* readIndex(ask: Ask, index: string, parts: number): AsyncGenerator<JsonObject> {
  const { id } = await ask({ method: 'POST', path: `/${index}/_pit?keep_alive=5m` })
  const slice = parts === 1 ? {} : { slice: { id: 0, max: parts } }
  const query = { size: pageSize, pit: { id }, sort: ['_shard_doc'], version: true, track_total_hits: false, ...slice }
  for (let after: Json | undefined; ;) {
    const page = after === undefined ? query : { ...query, search_after: after }
    const hits = listAt(objectAt(await ask({ method: 'POST', path: '/_search', body: page }), 'hits'), 'hits')
    yield* hits
    after = hits.at(-1)?.['sort']
    if (after === undefined) break
  }
  await ask({ method: 'DELETE', path: '/_pit', body: { id } })
}

async function postAll(ask: Ask, bodies: readonly string[]): Promise<void> {
  const left = bodies.values()
  const work = async (): Promise<void> => {
    for (const lines of left) {
      const { errors } = await ask({ method: 'POST', path: '/_bulk?filter_path=errors', lines })
      if (errors !== false) throw new BenchFailure('Elasticsearch did not take its own documents again')
    }
  }
  await Promise.all(Array.from({ length: requestsAtOnce }, work))
}

/** The names of all indexes with documents of the installation. */
async function documentIndexes(ask: Ask, prefix: string): Promise<readonly string[]> {
  const found = await ask({ method: 'GET', path: `/_resolve/index/${prefix}-*-v*` })
  return listAt(found, 'indices').map(({ name }) => String(name))
}

/**
 * The floor of all that ends in Elasticsearch: the documents that `records` records were made into, as they were sent, by
 * bulk requests as large as the writer's into empty indexes of the same mapping; then one refresh.
 */
export async function floorOfBulk(cluster: Cluster, records: number): Promise<BulkLeast> {
  const { elasticsearchUrl, indexPrefix } = cluster.config
  const elasticsearch = connectElasticsearch(elasticsearchUrl)
  const ask = createAsk(elasticsearch)
  try {
    const indexes = await documentIndexes(ask, indexPrefix)
    await ask({ method: 'POST', path: `/${indexes.join(',')}/_refresh` })
    const { count } = await ask({ method: 'GET', path: `/${indexes.join(',')}/_count` })
    const all = Number(count)
    const made = createBodies()
    for (const index of indexes) {
      // One shard each, so that a slice is a part of it, not all or nothing.
      for await (const hit of readIndex(ask, index, Math.ceil(all / documentsMax))) made.add(linesOf(hit))
      await makeCopy(ask, index)
    }
    const { bodies, documents } = made.take()
    const copies = indexes.map(copyOf).join(',')
    const { cost } = await cluster.measure(async () => {
      await postAll(ask, bodies)
      await ask({ method: 'POST', path: `/${copies}/_refresh` })
    })
    await ask({ method: 'DELETE', path: `/${copies}` })
    const perMillion = (seconds: number): number => (seconds * 1e6 * all) / (documents * records)
    return {
      documents,
      cpuPerMillion: perMillion(cost.cpu.elasticsearch),
      secondsPerMillion: perMillion(cost.seconds),
    }
  } finally {
    await elasticsearch.close()
  }
}
