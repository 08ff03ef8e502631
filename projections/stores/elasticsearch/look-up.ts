import { TransientError } from '#src/lib/failure.ts'
import type { JsonObject } from '#src/lib/json.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import { numberIn, objectIn, objectsIn, textIn } from './answer-parts.ts'
import type { Elasticsearch } from './call.ts'
import { partMissing, patiently, sendPatiently, shortPausesMs } from './patience.ts'
import { closedHint, isClosed, isWithoutShard, withoutPrimaryHint } from './reasons.ts'
import { inSizedParts, type Bound } from './sized-parts.ts'

/** Where a document is. */
export type DocumentPlace = Readonly<{ index: string; key: string; workspaceId: WorkspaceId }>

/** A document as it is stored now; undefined when it is not there. */
type FoundDocument = Readonly<{ version: number; source: JsonObject }> | undefined

const atOnce = 1_000

const errorIn = (answer: JsonObject | undefined): string => textIn(objectIn(answer?.['error'])['type'])

/** Whether it was told of a document that it is there, or that it is not: what could not be asked must not be taken for the latter. */
const isAnswer = (answer: JsonObject | undefined): boolean =>
  typeof answer?.['found'] === 'boolean' || errorIn(answer) === 'index_not_found_exception'

const documentIn = (answer: JsonObject | undefined): FoundDocument =>
  answer?.['found'] === true
    ? { version: numberIn(answer['_version']), source: objectIn(answer['_source']) }
    : undefined

async function ask(
  elasticsearch: Elasticsearch,
  asked: readonly DocumentPlace[],
  fields: readonly string[],
  bound: Bound,
): Promise<readonly JsonObject[]> {
  const { body } = await sendPatiently(elasticsearch, {
    operation: 'look up',
    subject: `${asked.length} documents`,
    method: 'POST',
    path: '/_mget',
    ...bound,
    // Not of the nearest copies (call.ts): a node that stood still would tell of its own, and what it has missed would be folded over.
    query: { _source: fields.join(','), filter_path: 'docs.found,docs._version,docs._source,docs.error.type' },
    body: { docs: asked.map(({ index, key, workspaceId }) => ({ _index: index, _id: key, routing: workspaceId })) },
  })
  return objectsIn(body['docs'])
}

/** The documents of some places, as soon as each can answer. */
async function askAll(
  elasticsearch: Elasticsearch,
  asked: readonly DocumentPlace[],
  fields: readonly string[],
  bound: Bound,
): Promise<readonly FoundDocument[]> {
  const answers = await patiently(async () => {
    const given = await ask(elasticsearch, asked, fields, bound)
    const open = asked.findIndex((_, order) => !isAnswer(given[order]))
    const place = asked[open]
    if (place === undefined) return given
    const error = errorIn(given[open])
    const failing = (hint: string) => new TransientError({ operation: 'look up', subject: place.index, hint })
    if (isClosed(error)) throw failing(closedHint)
    if (isWithoutShard(error)) return failing(withoutPrimaryHint)
    return partMissing(`${place.key} of ${place.index}: ${error}`)
  }, shortPausesMs)
  return asked.map((_, order) => documentIn(answers[order]))
}

/** Documents by their places, in their order. Realtime: what was written is found, refreshed or not. */
export async function lookUp(
  elasticsearch: Elasticsearch,
  places: readonly DocumentPlace[],
  fields: readonly string[],
): Promise<readonly FoundDocument[]> {
  const found: FoundDocument[] = []
  const part = (some: readonly DocumentPlace[], bound: Bound) => askAll(elasticsearch, some, fields, bound)
  for await (const documents of inSizedParts(places, atOnce, part)) found.push(...documents)
  return found
}
