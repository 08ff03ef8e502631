import { allowanceProjection } from '#projections/allowance/fold.ts'
import { createCountedSpans } from '#projections/allowance/counted-spans.ts'
import { createDeadLetters } from '#projections/folding/dead-letters.ts'
import { createDocumentCache } from '#projections/folding/documents.ts'
import { foldBatch, PoisonError } from '#projections/folding/fold-batch.ts'
import { createLeavesOut } from '#projections/folding/left-out-spans.ts'
import { withSeenEvents } from '#projections/folding/seen-events.ts'
import type { IndexReader, MissedDay, Scope } from '#projections/index-store.ts'
import type { DecodedEvent } from '#projections/projection.ts'
import { createMemoryIndexStore } from '#projections/stores/memory/store.ts'
import { buildName } from '#projections/rosters/build-name.ts'
import { beforeAll, type RecordedEvent } from '#src/events/envelope.ts'
import type { Clock } from '#src/lib/clock.ts'
import { dayOf } from '#src/lib/day.ts'
import { PermanentError } from '#src/lib/failure.ts'
import type { Stream } from '#streams/stream.ts'
import { promote } from '#test/support/promote.ts'
import type { Call } from '#test/support/reach.ts'
import type { World } from '#test/support/virtual-world.ts'

/** How an index goes wrong, each as a chance at a turn of its projector, or of an event. */
export type IndexTroubles = Readonly<{ rests: number; loses: number; poison: number }>

/** What an index keeps to itself of what it lacks, for showing that the simulation can fail. */
export type Hidden = 'lost days' | 'dead letters' | 'how far it is'

type Given = Readonly<{
  world: World
  /** The log itself: what the projector is late in, it is late in by its rests. */
  stream: Stream
  random: () => number
  troubles: IndexTroubles
  hides: Hidden | undefined
}>

const fold = withSeenEvents(allowanceProjection)
const index = buildName(allowanceProjection, 1)
const restMsMax = 30_000
const isTelemetry = ({ type }: RecordedEvent): boolean => type === 'spans.received' || type === 'spans.refused'

/** By headers alone: payloads are none here. */
const decoded = (event: RecordedEvent): DecodedEvent => ({
  event,
  spans: () => [],
  logs: () => [],
  rumEvents: () => [],
  refusedSpans: () => [],
})

/** The index that ledgers are corrected by, folded by the real folds; its projector rests at times, loses days, and puts events aside. */
export async function createAllowanceIndex({ world, stream, random, troubles, hides }: Given) {
  const { writer, reader: whole } = createMemoryIndexStore()
  const letters = createDeadLetters({ stream, clock: world.now })
  let lost: readonly MissedDay[] = []
  let position = beforeAll
  let isCalm = false
  const below = (max: number): number => Math.floor(random() * max)
  const happens = (chance: number): boolean => !isCalm && random() < chance

  await writer.open(index, fold, stream.epoch)
  await promote(writer, allowanceProjection.name, index)

  /** What there is to fold of an event. */
  const foldedOf = async (event: RecordedEvent): Promise<RecordedEvent | undefined> => {
    if (!isTelemetry(event)) return letters.brought(fold, event)
    if (!happens(troubles.poison)) return event
    const reason = new PermanentError({ operation: 'fold', subject: event.id })
    await letters.put(fold, new PoisonError(event, reason))
    return undefined
  }
  const turn = async (): Promise<void> => {
    const events = await stream.read(position, 100)
    const cache = createDocumentCache({ cachedDocumentsMax: 10_000, cachedBytesMax: 1e8 })
    const batch: DecodedEvent[] = []
    for (const event of events) {
      const folded = await foldedOf(event)
      if (folded !== undefined) batch.push(decoded(folded))
    }
    await foldBatch(fold, batch, cache, (keys) => writer.load(index, keys))
    position = events.at(-1)?.position ?? position
    await writer.write(index, cache.takeChanged(), { epoch: stream.epoch, position })
    const [head, at] = [await stream.head(), world.now()]
    await writer.heartbeat(index, { position, head, at, caughtUpAt: at })
  }
  const retry = async (): Promise<void> => {
    const open = (await letters.letters(fold)).filter(({ state }) => state === 'open')
    for (const letter of open) await letters.settle(fold, letter.position, 'retried')
  }
  /** A day is gone until somebody folds it anew; now and then somebody has events folded that were put aside. */
  const meddle = async (): Promise<void> => {
    if (happens(troubles.loses)) lost = lost.length > 0 ? [] : [{ day: dayOf(world.now() - below(2) * 86_400_000) }]
    if (happens(troubles.poison)) await retry()
  }
  const project = async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      await turn()
      await meddle()
      await world.sleep(happens(troubles.rests) ? below(restMsMax) : 200 + below(800))
    }
  }
  /** As a process reaches it. */
  const readerBy = (call: Call): IndexReader => ({
    ...whole,
    progress: (name) =>
      call('progress', 'none', async () => {
        const progress = await whole.progress(name)
        if (progress === undefined) return undefined
        return {
          ...progress,
          lostDays: hides === 'lost days' ? [] : lost,
          position: hides === 'how far it is' ? Infinity : progress.position,
        }
      }),
    search: <D extends object>(scope: Scope, query: Parameters<IndexReader['search']>[1]) =>
      call('search', 'none', async () => {
        const hits = await whole.search<D>(scope, query)
        return hits.filter((hit) => !lost.some(({ day }) => day === hit.day))
      }),
  })
  return {
    project,
    counted: (call: Call, reached: Stream, clock: Clock) =>
      createCountedSpans({
        reader: readerBy(call),
        clock,
        leavesOut:
          hides === 'dead letters'
            ? async () => false
            : createLeavesOut(allowanceProjection, reached, createDeadLetters({ stream: reached, clock })),
      }),
    /** From now on nothing goes wrong, and what has is mended. Resolves when all of the log is folded. */
    calm: async (): Promise<void> => {
      isCalm = true
      lost = []
      // The projector may be at rest still.
      await world.sleep(restMsMax)
      for (let head = Infinity; position < head; head = await stream.head()) {
        await world.sleep(1_000)
        // Also what the turn that was under way has put aside.
        await retry()
      }
    },
  }
}

/** What counts of a log: of an id with the same number of spans, once within 24 hours. */
export function spansThatCount(events: readonly RecordedEvent[]): number {
  const last = new Map<string, number>()
  let spans = 0
  for (const { id, type, receivedAt, counts } of events) {
    const name = `${id} ${type} ${counts.spans}`
    if (receivedAt - (last.get(name) ?? -Infinity) < 86_400_000) continue
    last.set(name, receivedAt)
    spans += counts.spans
  }
  return spans
}
