import type { IndexName } from '../../index-store.ts'
import type { JsonObject } from '#src/lib/json.ts'
import { objectIn, objectsIn } from './answer-parts.ts'
import { everyOpen } from './call.ts'
import type { StoredDays } from './indices.ts'
import type { Place } from './place.ts'

/** Begun empty, or by a copy that was not the newest. Of an index whose shards have begun before: each new one begins empty. */
const isReplaced = ({ primary, type, source }: JsonObject): boolean =>
  primary === true && (type === 'EMPTY_STORE' || objectIn(source)['bootstrap_new_history_uuid'] === true)

/**
 * The days of a build of which a shard was lost, and somebody has put an empty one in its place (`allocate_empty_primary`), or a copy that lacks what came
 * last (`allocate_stale_primary`). The index is the same, and has its UUID. How a shard has begun is told until it begins anew, as when its node starts.
 */
export async function daysWithReplaced(
  { elasticsearch, names }: Place,
  index: IndexName,
  { recovered, closed }: StoredDays,
): Promise<readonly string[]> {
  const asked = recovered.filter((name) => !closed.includes(name))
  if (asked.length === 0) return []
  const parts = ['type', 'primary', 'source.bootstrap_new_history_uuid'].map((part) => `*.shards.${part}`)
  const { body } = await elasticsearch.send({
    operation: 'look for the shards of',
    subject: index,
    method: 'GET',
    path: `/${names.build(index)}/_recovery`,
    query: { ...everyOpen, filter_path: parts.join() },
    // Where the metadata of one is blocked, it is told of none.
    accept: [403],
  })
  return asked.filter((name) => objectsIn(objectIn(body[name])['shards']).some(isReplaced))
}
