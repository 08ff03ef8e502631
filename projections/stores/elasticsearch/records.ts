import { createGather } from '#src/lib/gather.ts'
import { isJsonObject, stringifyJson, type JsonObject } from '#src/lib/json.ts'
import { hitsIn, numberIn, objectIn, objectsIn } from './answer-parts.ts'
import { nearest, type Elasticsearch } from './call.ts'
import type { Names } from './names.ts'
import { sendPatiently } from './patience.ts'
import { refreshIndices } from './refresh.ts'

// The documents of the index of records: builds, and rosters. They are found by their ids, refreshed or not.

/** The condition under which a document is still as it was. */
type Unchanged = Readonly<Record<string, number>>
/** A document as it is stored, or as it was last written, and the condition under which it still is so. */
export type StoredRecord = Readonly<{ source: JsonObject; unchanged: Unchanged }>

type Update = Readonly<{ id: string; fields: JsonObject; unchanged: Unchanged }>

export type Records = Readonly<{
  /** Undefined when it is not there. */
  read(id: string): Promise<StoredRecord | undefined>
  /** Replaces fields, each whole, of a document that is still as it was. Returns the condition under which it stays so, else what is in the way. */
  update(update: Update): Promise<Unchanged | 'gone' | 'changed'>
  /** Those of all builds, of all partitions. */
  builds(): Promise<readonly JsonObject[]>
}>

export const recordPath = (names: Names, kind: '_doc' | '_create' | '_update', id: string): string =>
  `/${names.state}/${kind}/${encodeURIComponent(id)}`

const unchangedSince = (answer: JsonObject): Unchanged => ({
  if_seq_no: numberIn(answer['_seq_no']),
  if_primary_term: numberIn(answer['_primary_term']),
})

const recordIn = (answer: JsonObject): StoredRecord => {
  const source = answer['_source']
  return { source: isJsonObject(source) ? source : {}, unchanged: unchangedSince(answer) }
}

/** Each is asked for alone. */
export function createRecords(elasticsearch: Elasticsearch, names: Names): Records {
  return {
    async read(id) {
      const call = { operation: 'read', subject: id, method: 'GET', path: recordPath(names, '_doc', id) } as const
      const answer = await sendPatiently(elasticsearch, { ...call, query: nearest, accept: [404] })
      return answer.status === 404 ? undefined : recordIn(answer.body)
    },
    async update({ id, fields, unchanged }) {
      const call = { operation: 'update', subject: id, method: 'POST', accept: [404, 409] } as const
      const query = { ...unchanged, _source: false }
      const path = recordPath(names, '_update', id)
      const { status, body } = await elasticsearch.send({ ...call, path, query, body: { doc: fields } })
      if (status === 404) return 'gone'
      return status === 409 ? 'changed' : unchangedSince(body)
    },
    async builds() {
      await refreshIndices(elasticsearch, names.state)
      const call = { operation: 'list builds', subject: names.state, method: 'POST', accept: [404] } as const
      // What belongs to no build in this list is removed: one that lacks some is none.
      const query = { ...nearest, allow_partial_search_results: false }
      const body = { size: 10_000, query: { term: { kind: 'build' } } }
      const path = `/${names.state}/_search`
      const answer = await elasticsearch.send({ ...call, path, query, body, mayRepeat: true })
      return hitsIn(answer.body).map((hit) => objectIn(hit['_source']))
    },
  }
}

/** One at a time. Who asks meanwhile waits for the next, with all others who do: the one under way may lack what he has just written. */
function createNext<Answer>(ask: () => Promise<Answer>): () => Promise<Answer> {
  let last: Promise<unknown> = Promise.resolve()
  let next: Promise<Answer> | undefined
  const begin = async (): Promise<Answer> => {
    await last.catch(() => undefined)
    next = undefined
    const asked = ask()
    last = asked
    return asked
  }
  return () => (next ??= begin())
}

/** Who asks with whom changes from one time to the next: with their names, each failure of an outage would read as another. */
const manyOf = (all: readonly unknown[]): string => `${all.length} records`

/**
 * What is asked for in one turn of the event loop goes in one request, because a projector reads and writes a handful each second. One that such a
 * request has no plain answer to is asked for alone, which tells why.
 */
export function createGatheredRecords(elasticsearch: Elasticsearch, names: Names): Records {
  const alone = createRecords(elasticsearch, names)
  const busy = [404, 429, 503]
  const readAll = createGather(async (ids: readonly string[]) => {
    if (ids.length === 1) return []
    const call = { operation: 'read', subject: manyOf(ids), method: 'POST', accept: busy } as const
    const path = `/${names.state}/_mget`
    const { body } = await elasticsearch.send({ ...call, path, query: nearest, body: { ids }, mayRepeat: true })
    return objectsIn(body['docs'])
  })
  const updateAll = createGather(async (updates: readonly Update[]) => {
    if (updates.length === 1) return []
    const lines = updates.flatMap(({ id, fields, unchanged }) => [
      stringifyJson({ update: { _id: id, ...unchanged } }),
      stringifyJson({ doc: fields }),
    ])
    const call = { operation: 'update', subject: manyOf(updates), method: 'POST', accept: busy } as const
    const { body } = await elasticsearch.send({
      ...call,
      path: `/${names.state}/_bulk`,
      lines: `${lines.join('\n')}\n`,
    })
    return objectsIn(body['items']).map((item) => objectIn(item['update']))
  })
  return {
    builds: createNext(() => alone.builds()),
    async read(id) {
      const { answer, at } = await readAll(id)
      const mine = answer[at] ?? {}
      if (typeof mine['found'] !== 'boolean') return alone.read(id)
      return mine['found'] ? recordIn(mine) : undefined
    },
    async update(update) {
      const { answer, at } = await updateAll(update)
      const mine = answer[at] ?? {}
      const status = numberIn(mine['status'])
      if (status === 409) return 'changed'
      return status === 200 ? unchangedSince(mine) : alone.update(update)
    },
  }
}
