import { assert } from '#src/lib/assert.ts'
import { PermanentError } from '#src/lib/failure.ts'
import type { RecordedEvent } from '#src/events/envelope.ts'
import type { EntryKey } from '../index-store.ts'
import type { DecodedEvent, Entry, Projection } from '../projection.ts'
import type { DocumentCache } from './documents.ts'

/** The entries of each key, in the order of the keys, as `IndexWriter.load` gives them. */
type Load = (keys: readonly EntryKey[]) => Promise<readonly (readonly Entry[])[]>

/** An event that can never be folded: decoding or the fold has thrown a PermanentError. */
export class PoisonError extends Error {
  override readonly name = 'PoisonError'
  readonly event: RecordedEvent
  readonly reason: PermanentError
  constructor(event: RecordedEvent, reason: PermanentError) {
    super(reason.message, { cause: reason })
    this.event = event
    this.reason = reason
  }
}

/** Runs a projection on one event. A failure other than a PermanentError may be of what is stored: find-poison.ts looks whose it is. */
function blaming<T>({ event }: DecodedEvent, task: () => T): T {
  try {
    return task()
  } catch (error) {
    throw error instanceof PermanentError ? new PoisonError(event, error) : error
  }
}

/** Rounds of needs() and load. A projection names all its documents in two or three. */
const roundsMax = 16

function distinct(keys: readonly EntryKey[]): readonly EntryKey[] {
  const seen = new Map(keys.map((key) => [`${key.workspaceId}\0${key.collection}\0${key.id}\0${key.day}`, key]))
  return [...seen.values()]
}

async function loadNeeds(
  projection: Projection,
  events: readonly DecodedEvent[],
  cache: DocumentCache,
  load: Load,
): Promise<void> {
  for (let round = 0; ; round++) {
    const missingOf = (event: DecodedEvent): readonly EntryKey[] => {
      const needed = blaming(event, () => projection.needs(event, cache.loaded(event)))
      return cache.missing(event, needed)
    }
    const missing = distinct(events.flatMap(missingOf))
    if (missing.length === 0) return
    assert(round < roundsMax, `${projection.name} names new documents after ${roundsMax} rounds`)
    cache.add(missing, await load(missing))
  }
}

/**
 * Folds events into the documents of the cache, in order. What they need is loaded in bulk first, and again for an event whose needs were changed
 * by events before it. Nothing is written; the changes stay in the cache. It throws a PoisonError if one event is to blame. After any failure
 * the cache holds half an event and must not be used again.
 */
export async function foldBatch(
  projection: Projection,
  events: readonly DecodedEvent[],
  cache: DocumentCache,
  load: Load,
): Promise<void> {
  const handled = events.filter(({ event }) => (projection.handles as readonly string[]).includes(event.type))
  await loadNeeds(projection, handled, cache, load)
  for (const event of handled) {
    await loadNeeds(projection, [event], cache, load)
    blaming(event, () => projection.fold(event, cache.documents(event)))
  }
}
