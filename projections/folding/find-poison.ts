import type { Position } from '#src/events/envelope.ts'
import { isOperatingFailure, PermanentError } from '#src/lib/failure.ts'
import { stringifyJson } from '#src/lib/json.ts'
import type { DecodedEvent, Projection } from '../projection.ts'
import { rowOf, writtenOf } from '../stores/row.ts'
import { createDocumentCache } from './documents.ts'
import { foldBatch, PoisonError } from './fold-batch.ts'
import { withPlace } from './with-place.ts'

/** Nothing is forgotten: the documents of one event. */
const noLimits = { cachedDocumentsMax: Infinity, cachedBytesMax: Infinity }

/** Folds one event into no documents, and makes of what it leaves all that a store makes of it. Throws as the fold or the documents do. */
async function foldAlone(projection: Projection, event: DecodedEvent): Promise<void> {
  const cache = createDocumentCache(noLimits)
  await foldBatch(projection, [event], cache, async (keys) => keys.map(() => []))
  const written = writtenOf(projection)
  for (const entry of cache.takeChanged().flatMap(({ entries }) => entries)) {
    const known = written.get(entry.collection)
    if (known !== undefined) rowOf(known.shape, known.collection, entry)
    stringifyJson(entry.document)
  }
}

/** Why an event fails alone as well; undefined where it does not. */
const failureAlone = (projection: Projection, event: DecodedEvent): Promise<unknown> =>
  foldAlone(projection, event).catch((cause: unknown) => cause)

function blamed({ event }: DecodedEvent, cause: unknown): PoisonError {
  if (cause instanceof PoisonError) return cause
  const place = { operation: `fold ${event.type}`, subject: `at ${event.position}` }
  return new PoisonError(event, new PermanentError({ ...place, cause: withPlace(cause) }))
}

/**
 * The events to blame after folding or writing a batch has failed. Each event is folded alone, into no documents.
 * - If the failure names an event (PoisonError): that one, and all for which folding alone names them too. Others that fail alone may only lack what
 *   is stored, and can be folded with the rest.
 * - Otherwise: all that fail alone.
 *
 * All are found at once: found one by one, each would cost another fold of the batch, and nobody would see that most fail. Rejects with the failure
 * itself if that is an operating failure, or if no event fails alone: then what is stored may be wrong.
 */
export async function findPoison(
  projection: Projection,
  events: readonly DecodedEvent[],
  failure: unknown,
): Promise<readonly PoisonError[]> {
  if (isOperatingFailure(failure)) throw failure
  const named = failure instanceof PoisonError ? failure : undefined
  const found: PoisonError[] = []
  for (const event of events) {
    const cause = event.event === named?.event ? named : await failureAlone(projection, event)
    if (cause instanceof PoisonError || (cause !== undefined && named === undefined)) found.push(blamed(event, cause))
  }
  if (found.length === 0) throw failure
  return found
}

/** So many events of a batch may each be an exception. */
const exceptionsMax = 3

/**
 * Throws where the program fails with more than half of the events of a type: then it is at fault, not the events, and readers must not be moved to
 * what it leaves out. `lacked`: the positions of those that readers do not find now either, which do not count: no program may be able to fold them.
 */
export function refuseMost(
  { name, handles }: Projection,
  events: readonly DecodedEvent[],
  { poison, lacked }: Readonly<{ poison: readonly PoisonError[]; lacked: ReadonlySet<Position> }>,
): void {
  for (const type of handles) {
    const counts = ({ event }: Pick<DecodedEvent, 'event'>) => event.type === type && !lacked.has(event.position)
    const [first, ...others] = poison.filter(counts)
    const failed = others.length + 1
    const all = events.filter(counts).length
    if (first === undefined || failed <= exceptionsMax || failed * 2 <= all) continue
    const subject = `${name}, which fails with ${failed} of ${all} ${type}`
    const hint = 'readers stay on the build before; mend the program, or go back to the older one'
    throw new PermanentError({ operation: 'fold', subject, hint, cause: first.reason })
  }
}
