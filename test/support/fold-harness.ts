import { expect } from 'chai'
import { crc32 } from 'node:zlib'
import { buildName } from '#projections/rosters/build-name.ts'
import { createDocumentCache } from '#projections/folding/documents.ts'
import { foldBatch } from '#projections/folding/fold-batch.ts'
import { createMemoryIndexStore, type Dump, type MemoryIndexStore } from '#projections/stores/memory/store.ts'
import type { IndexWriter } from '#projections/index-store.ts'
import type { DecodedEvent, Projection } from '#projections/projection.ts'
import { withSeenEvents } from '#projections/folding/seen-events.ts'
import { noCounts, positionStep, type RecordedEvent, type TelemetryEventType } from '#src/events/envelope.ts'
import type { LogRecord, RefusedSpan, RumEvent, Span } from '#src/events/telemetry.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import { present } from '#src/lib/assert.ts'
import { stringifyJson } from '#src/lib/json.ts'
import { promote } from '#test/support/promote.ts'

type GivenContent = Readonly<{
  spans?: readonly Span[]
  logs?: readonly LogRecord[]
  rumEvents?: readonly RumEvent[]
  refusedSpans?: readonly RefusedSpan[]
}>
export type GivenHeader = Partial<Omit<RecordedEvent, 'workspaceId'>> & Readonly<{ workspace?: string }>

/** A recorded event with nothing in its payload; position `n` is the n-th message of the log. */
function recordedEvent(type: TelemetryEventType, n: number, header: GivenHeader = {}): RecordedEvent {
  const { workspace = 'acme', ...more } = header
  const payload = new Uint8Array()
  return {
    id: `${workspace}.test.${n.toString(16).padStart(32, '0')}`,
    type,
    schemaVersion: 1,
    workspaceId: workspaceIdOf(workspace),
    keyId: 'key-1',
    receivedAt: Date.UTC(2026, 10, 21, 12) + n,
    retentionClass: '30d',
    identified: true,
    counts: noCounts,
    contentType: 'application/json',
    encoding: '',
    crc: crc32(payload),
    payload,
    position: n * positionStep,
    ...more,
  }
}

/** An event as a fold sees it, with its content given instead of decoded. */
export function givenEvent(
  type: TelemetryEventType,
  n: number,
  content: GivenContent = {},
  header: GivenHeader = {},
): DecodedEvent {
  const { spans = [], logs = [], rumEvents = [], refusedSpans = [] } = content
  return {
    event: recordedEvent(type, n, header),
    spans: () => spans,
    logs: () => logs,
    rumEvents: () => rumEvents,
    refusedSpans: () => refusedSpans,
  }
}

function freezeDeep(value: unknown): void {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return
  Object.freeze(value)
  for (const item of Object.values(value)) freezeDeep(item)
}

/** What the fold is given and what it makes is frozen: a fold that changes a document in place throws. */
function frozen(projection: Projection): Projection {
  return {
    ...projection,
    fold(event, documents) {
      projection.fold(event, {
        get: (key) => documents.get(key),
        update: (key, fold) =>
          documents.update(key, (document) => {
            freezeDeep(document)
            const next = fold(document)
            freezeDeep(next)
            return next
          }),
        put: (key, document, options) => documents.put(key, document, options),
      })
    },
  }
}

/** Folds batches into an index by a fresh cache, writing each batch with its checkpoint. */
export async function foldInto(
  writer: IndexWriter,
  index: string,
  projection: Projection,
  batches: readonly (readonly DecodedEvent[])[],
): Promise<void> {
  const complete = frozen(withSeenEvents(projection))
  await writer.open(index, complete, 'epoch-1')
  for (const batch of batches) {
    const cache = createDocumentCache({ cachedDocumentsMax: 10_000, cachedBytesMax: 1e8 })
    await foldBatch(complete, batch, cache, (keys) => writer.load(index, keys))
    const position = batch.at(-1)?.event.position
    if (position !== undefined) await writer.write(index, cache.takeChanged(), { epoch: 'epoch-1', position })
  }
}

/** Lets readers see an index, and tells them that it has all up to the last of these events. */
export async function showIndex(
  writer: IndexWriter,
  index: string,
  projection: Projection,
  events: readonly DecodedEvent[],
): Promise<void> {
  const position = events.at(-1)?.event.position
  await promote(writer, projection.name, index)
  if (position !== undefined) await writer.heartbeat(index, { position, head: position, at: 0, caughtUpAt: 0 })
}

/** Folds all events, in one batch, into a new memory index that is promoted for reading. */
export async function foldAll(projection: Projection, events: readonly DecodedEvent[]): Promise<MemoryIndexStore> {
  const store = createMemoryIndexStore()
  const index = buildName(projection, 1)
  await foldInto(store.writer, index, projection, [events])
  await showIndex(store.writer, index, projection, events)
  return store
}

const text = (dump: Dump): string => dump.map((item) => stringifyJson(item)).join('\n')

type FoldHarness = Readonly<{
  /** The events folded, all checks passed. The store is promoted: its reader answers. */
  fold(events: readonly DecodedEvent[]): Promise<MemoryIndexStore>
  /** Documents of one collection and workspace, by id (of several days, the newest). */
  documents<D extends object>(store: MemoryIndexStore, collection: string, workspace?: string): ReadonlyMap<string, D>
}>

/**
 * Given events, then documents. Every fold is also done one event at a time, each batch twice, from the start again, and
 * from the middle again; all must give the same index to the last byte (purity and the position guard).
 */
export function createFoldHarness(projection: Projection): FoldHarness {
  const index = buildName(projection, 1)
  return {
    async fold(events) {
      const store = await foldAll(projection, events)
      const expected = text(store.dump(index))
      const single = events.map((event) => [event])
      const ways: Readonly<Record<string, readonly (readonly DecodedEvent[])[]>> = {
        'one event at a time': single,
        'each event twice': single.flatMap((batch) => [batch, batch]),
        'from the start again': [...single, ...single],
        'all again in one batch': [events, events],
        'from the middle again': [...single, events.slice(Math.floor(events.length / 2))],
      }
      for (const [way, batches] of Object.entries(ways)) {
        const again = createMemoryIndexStore()
        await foldInto(again.writer, index, projection, batches)
        expect(text(again.dump(index)), way).to.equal(expected)
      }
      return store
    },
    documents: <D extends object>(store: MemoryIndexStore, collection: string, workspace = 'acme') =>
      new Map(
        store
          .dump(index)
          .filter((item) => item.workspaceId === workspace && item.entry.collection === collection)
          .map(({ entry }) => [entry.id, present(entry.document as D, 'a document')]),
      ),
  }
}
