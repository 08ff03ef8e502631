import { objectIn } from './answer-parts.ts'
import type { Elasticsearch } from './call.ts'

/**
 * Of the indices that a wildcard names, those that have a shard without a primary one: a refresh waits a minute for it. One that was made only
 * just before has none yet; so long, as `2s`, it is waited for.
 */
export async function withoutPrimary(
  elasticsearch: Elasticsearch,
  indices: string,
  patience = '0s',
): Promise<ReadonlySet<string>> {
  const { body } = await elasticsearch.send({
    operation: 'look for the shards of',
    subject: indices,
    method: 'GET',
    path: `/_cluster/health/${indices}`,
    query: {
      level: 'indices',
      wait_for_status: 'yellow',
      timeout: patience,
      filter_path: 'indices.*.status',
    },
    // It was waited for in vain.
    accept: [408],
  })
  const found = objectIn(body['indices'])
  return new Set(Object.keys(found).filter((name) => objectIn(found[name])['status'] === 'red'))
}
