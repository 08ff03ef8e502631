import { TransientError } from '#src/lib/failure.ts'
import type { JsonObject } from '#src/lib/json.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import { objectIn, objectsIn, textIn } from './answer-parts.ts'
import type { Elasticsearch } from './client.ts'

/** Where a document is. */
export type DocumentPlace = Readonly<{ index: string; key: string; workspaceId: WorkspaceId }>

/** A stored document; undefined if it does not exist. */
type StoredDocument = Readonly<{ version: number; source: JsonObject }> | undefined

const atOnce = 1_000

/** A failed look-up must not be taken for a missing document. */
function documentIn(answer: JsonObject | undefined, { index, key }: DocumentPlace): StoredDocument {
  if (answer?.['found'] === true) return { version: Number(answer['_version']), source: objectIn(answer['_source']) }
  const error = textIn(objectIn(answer?.['error'])['type'])
  if (answer?.['found'] === false || error === 'index_not_found_exception') return undefined
  throw new TransientError({ operation: 'look up', subject: `${key} of ${index}`, cause: new Error(error) })
}

/** Documents by their places, in that order. What was written is found, refreshed or not. */
export async function lookUp(
  elasticsearch: Elasticsearch,
  places: readonly DocumentPlace[],
  fields: readonly string[],
): Promise<readonly StoredDocument[]> {
  const found: StoredDocument[] = []
  for (let start = 0; start < places.length; start += atOnce) {
    const asked = places.slice(start, start + atOnce)
    const { body } = await elasticsearch.send({
      operation: 'look up',
      subject: `${asked.length} documents`,
      method: 'POST',
      path: '/_mget',
      query: {
        _source: fields.join(','),
        filter_path: 'docs.found,docs._version,docs._source,docs.error.type',
      },
      body: { docs: asked.map(({ index, key, workspaceId }) => ({ _index: index, _id: key, routing: workspaceId })) },
    })
    const answers = objectsIn(body['docs'])
    for (const [order, place] of asked.entries()) found.push(documentIn(answers[order], place))
  }
  return found
}
