import { isJsonObject } from '#src/lib/json.ts'
import { objectIn, objectsIn, textIn } from './answer-parts.ts'

/** Around the name of the queue stand Java objects by their addresses, so that no two of these are alike. */
const rejected = /rejected execution of .*\[name = ([^,\]]+), queue capacity = .*/s

/** `type: reason` of the innermost cause in an error's body, shortened; with the index, where the reason does not name it. */
export function reasonOf(body: unknown): string {
  let error = isJsonObject(body) ? objectIn(body['error']) : {}
  // If shards of a search fail, the first of them says why.
  const [part] = objectsIn(error['failed_shards'])
  if (part !== undefined) error = objectIn(part['reason'])
  while (isJsonObject(error['caused_by'])) error = error['caused_by']
  const index = textIn(error['index'])
  const parts = [error['type'], error['reason']].map(textIn)
  const text = [...parts, parts.some((part) => part.includes(index)) ? '' : index].filter((each) => each !== '')
  return text.join(': ').replace(rejected, 'the queue of $1 is full').slice(0, 500)
}

/** A block comes and goes: a node whose disk is too full sets it, or somebody for a while. It is answered with 403 or 429. */
export const isBlocked = (reason: string): boolean => reason.startsWith('cluster_block_exception')
export const blockedHint =
  'it is blocked: make room on the disks, if they are full, and lift the block (index.blocks.*, cluster.blocks.*)'

/** What a node answers that reaches no master. Nobody can lift this block; it goes by itself. */
export const isMasterless = (reason: string): boolean =>
  reason.startsWith('master_not_discovered_exception') || (isBlocked(reason) && reason.includes('/no master'))
export const masterlessHint =
  'it reaches no master: enough of the nodes that may lead must be there, and reach each other'

/** Somebody has closed the index. Wildcards pass over it without a word. */
export const isClosed = (reason: string): boolean =>
  reason.startsWith('index_closed_exception') || (isBlocked(reason) && reason.includes('index closed'))
export const closedHint = 'it is closed, and what is in it is not found: open it again (POST /INDEX/_open)'

/** A setting of the whole cluster, which knows nothing of how much a pattern may meet here. */
export const isForbiddenPattern = (reason: string): boolean => reason.includes('search.allow_expensive_queries')
export const forbiddenPatternHint =
  'somebody has forbidden patterns and beginnings of words there: take the cluster setting search.allow_expensive_queries back'

/** No index that is part of a snapshot is removed before that is complete. */
export const isSnapshotted = (reason: string): boolean => reason.startsWith('snapshot_in_progress_exception')
export const snapshotHint = 'a snapshot is taken of it: it goes on by itself when that is complete'

/** Its primary shard is active, and somebody wants more. */
export const lacksCopies = (reason: string): boolean => reason.includes('Not enough active copies')
export const fewCopiesHint =
  'it has fewer active copies than index.write.wait_for_active_shards asks for: bring back the nodes, or set that to 1 (an index template may set it too)'

/** A shard that has not started yet, or cannot: its node is away, its disk is damaged, or no node may have it. */
export const isWithoutPrimary = (reason: string): boolean =>
  reason.startsWith('unavailable_shards_exception') && !lacksCopies(reason)
/** Nor a copy of it, of which one could read. */
export const isWithoutShard = (error: string): boolean => error === 'no_shard_available_action_exception'
export const withoutPrimaryHint =
  'its primary shard is not active: GET _cluster/allocation/explain says why; where it is lost for good, rebuild the projection'

/**
 * A limit that somebody has lowered below what our requests are made for, such as `index.max_result_window` or `search.max_buckets`. Its message names
 * it. Patterns may exceed the length that ours have by themselves.
 */
export const isLoweredLimit = (reason: string): boolean =>
  /can be set by changing the \[[^\]]+\] (index|cluster) level setting/.test(reason) &&
  !reason.includes('max_regex_length')
export const loweredLimitHint =
  'somebody has lowered a limit there: set what it names back to its default (an index template may set it too)'

/** A circuit breaker: the answer may be what its memory has no room for. */
export const isTooLarge = (reason: string): boolean => reason.startsWith('circuit_breaking_exception')

/** A queue that is full, or a circuit breaker: more than its memory allows for now. */
export const busyHint = 'it has no room for more now: look at its load, its memory and its disks'

/** 413. */
export const tooLongHint =
  'it takes no request of so many bytes: raise its http.max_content_length, or the limit of what stands before it'

/** 403, for another reason than a block. */
export const forbiddenHint =
  'the user of ELASTICSEARCH_URL lacks a right: give it monitor and manage_index_templates on the cluster, and all on INDEX_PREFIX-*'

/** Of an index that was not made by us, or was changed since. */
export const mappingHint =
  'its mapping or settings are not as they were made: rebuild the projection, which makes new indices'
