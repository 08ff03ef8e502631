import { expect } from 'chai'
import { buildName } from '#projections/rosters/build-name.ts'
import { createDocumentCache } from '#projections/folding/documents.ts'
import { foldBatch } from '#projections/folding/fold-batch.ts'
import type { WorkspaceEntries } from '#projections/index-store.ts'
import type { DecodedEvent, Entry } from '#projections/projection.ts'
import { withSeenEvents } from '#projections/folding/seen-events.ts'
import { createMemoryIndexStore, type MemoryIndexStore } from '#projections/stores/memory/store.ts'
import { tracesProjection } from '#projections/traces/fold.ts'
import { isSuperseded, type SpanRecord } from '#projections/traces/span-document.ts'
import type { TraceDocument } from '#projections/traces/trace-document.ts'
import { positionStep } from '#src/events/envelope.ts'
import { present } from '#src/lib/assert.ts'
import { stringifyJson } from '#src/lib/json.ts'
import { givenEvent } from '#test/support/fold-harness.ts'
import { createRandom } from '#test/support/random.ts'
import { givenLog, received, refused, spanIdOf, traceIdOf, type GivenSpan } from './given.ts'

const index = buildName(tracesProjection, 1)
const projection = withSeenEvents(tracesProjection)

async function newStore(): Promise<MemoryIndexStore> {
  const store = createMemoryIndexStore()
  await store.writer.open(index, projection, 'epoch-1')
  return store
}

/** What folding these events, one after the other, would write; nothing is written. */
async function changesOf(
  store: MemoryIndexStore,
  events: readonly DecodedEvent[],
): Promise<readonly WorkspaceEntries[][]> {
  const cache = createDocumentCache({ cachedDocumentsMax: 10_000, cachedBytesMax: 1e9 })
  const states: WorkspaceEntries[][] = []
  for (const event of events) {
    await foldBatch(projection, [event], cache, (keys) => store.writer.load(index, keys))
    states.push([...cache.takeChanged()])
  }
  return states
}

async function fold(store: MemoryIndexStore, events: readonly DecodedEvent[]): Promise<void> {
  const cache = createDocumentCache({ cachedDocumentsMax: 10_000, cachedBytesMax: 1e9 })
  await foldBatch(projection, events, cache, (keys) => store.writer.load(index, keys))
  await store.writer.write(index, cache.takeChanged(), {
    epoch: 'epoch-1',
    position: events.at(-1)?.event.position ?? 0,
  })
}

/** All that is stored, with the positions that it was first and last written at: verify compares those too. */
const contents = (store: MemoryIndexStore): string =>
  store
    .dump(index)
    .map((item) => stringifyJson(item))
    .join('\n')

const nameOf = (entry: Entry): string => `${entry.collection}/${entry.id}`

/** Every way to choose, for each name, one of its states or none. */
function* choices(states: ReadonlyMap<string, readonly Entry[]>): Generator<readonly Entry[]> {
  const [first, ...rest] = [...states]
  if (first === undefined) {
    yield []
    return
  }
  for (const others of choices(new Map(rest))) {
    yield others
    for (const entry of first[1]) yield [entry, ...others]
  }
}

const many = (from: number, count: number): GivenSpan[] =>
  Array.from({ length: count }, (_, offset) => ({ id: from + offset, parent: Math.floor((from + offset) / 2) }))

describe('traces: an event that changes nothing', () => {
  it('writes nothing: the trace stands at the last event that changed it', async () => {
    const store = await newStore()
    const positions: (readonly number[])[] = []
    const events = [refused(1, ['x']), refused(2, ['x']), received(3, [{ id: 'x' }]), refused(4, ['x'])]
    for (const event of [...events, refused(5, ['x'], 'rejected_invalid'), received(6, [{ id: 'x' }])]) {
      await fold(store, [event])
      const ofTrace = store.dump(index).filter(({ entry }) => ['traces', 'parts'].includes(entry.collection))
      positions.push(ofTrace.map(({ entry }) => entry.position / positionStep))
    }
    expect(positions).to.deep.equal([1, 1, 3, 3, 5, 6].map((n) => [n, n]))
  })
})

describe('traces: a crash between the writes of one batch', () => {
  const before = [received(1, many(10, 996))]
  const scenarios: Readonly<Record<string, readonly DecodedEvent[]>> = {
    'spans that fill one part and open the next': [
      received(2, many(1_006, 9)),
      received(3, [...many(1_000, 12), { id: 12, parent: 'elsewhere', status: 'error' }]),
    ],
    'a span in the full part that comes again with another parent and start': [
      received(2, [...many(1_006, 6), { id: 12, parent: 'elsewhere', atMs: 5 }]),
      received(3, [{ id: 12, parent: 5, atMs: 9 }, { id: 'elsewhere' }]),
    ],
    'one span after another': [received(2, many(1_006, 1)), received(3, many(1_007, 1)), received(4, many(1_008, 1))],
    'a span that comes again and again': [received(2, many(1_006, 1)), received(3, many(1_006, 1))],
    'refusals, then the same spans': [refused(2, ['x', 'y']), received(3, [...many(1_006, 5), { id: 'x' }])],
    'refusals that are known, and one that is not': [
      refused(2, ['x', 'y']),
      refused(3, ['y']),
      refused(4, ['x', 'z']),
      refused(5, ['z', 'x']),
    ],
    'refusals of spans that came, with another reason, and known ones': [
      received(2, [...many(1_006, 5), { id: 'x' }]),
      refused(3, ['x']),
      refused(4, ['x']),
      refused(5, ['x'], 'rejected_invalid'),
      refused(6, ['x'], 'rejected_invalid'),
    ],
    'logs between spans': [
      givenEvent('logs.received', 2, { logs: [givenLog({ trace: 't', sessionId: 'one' })] }),
      received(3, many(1_006, 7)),
      givenEvent('logs.received', 4, { logs: [givenLog({ trace: 't', sessionId: 'two' })] }),
    ],
  }

  for (const [name, events] of Object.entries(scenarios)) {
    for (const given of [before, []]) {
      it(`${name}, ${given.length === 0 ? 'in a new trace' : 'in a trace with a part almost full'}: every subset folds on to the same`, async () => {
        const whole = await newStore()
        for (const event of [...given, ...events]) await fold(whole, [event])
        const expected = contents(whole)
        const start = await newStore()
        if (given.length > 0) await fold(start, given)
        const states = new Map<string, Entry[]>()
        const records: Entry[] = []
        const changes = (await changesOf(start, events)).flat(2)
        for (const entry of changes.flatMap(({ entries }) => entries)) {
          if (entry.collection === 'spans') records.push(entry)
          else if (['traces', 'parts'].includes(entry.collection)) {
            states.set(nameOf(entry), [...(states.get(nameOf(entry)) ?? []), entry])
          }
        }
        const { workspaceId } = present(changes[0], 'changes')
        let tried = 0
        for (const chosen of choices(states)) {
          for (const entries of [chosen, [...chosen, ...records]]) {
            const store = await newStore()
            if (given.length > 0) await fold(store, given)
            await store.writer.write(index, [{ workspaceId, entries }], { epoch: 'epoch-1', position: 0 })
            await fold(store, events)
            expect(contents(store), chosen.map((entry) => `${nameOf(entry)}@${entry.position}`).join()).to.equal(
              expected,
            )
            tried++
          }
        }
        expect(tried).to.be.greaterThan(7)
      }).timeout(300_000)
    }
  }
})

/** The sums of a trace, from all that was ever sent of it in order: the last version of each span, and nothing clever. */
function plainSums(events: readonly DecodedEvent[]): object {
  const all = events.flatMap((event) => event.spans())
  const last = new Map(all.map((span) => [span.spanId, span]))
  const spans = [...last.values()]
  const refused = new Set(events.flatMap((event) => event.refusedSpans().map(({ spanId }) => spanId)))
  const parents = new Set(spans.flatMap(({ parentSpanId }) => parentSpanId ?? []))
  const times = (of: 'startNs' | 'endNs') => spans.map((span) => span[of]).sort((a, b) => Number(a - b))
  return {
    spanCount: spans.length,
    repeatedCount: all.length - spans.length,
    errorCount: spans.filter(({ status }) => status.code === 'error').length,
    startNs: times('startNs')[0]?.toString(),
    endNs: times('endNs').at(-1)?.toString(),
    missingParentCount: [...parents].filter((parent) => !last.has(parent)).length,
    rejectedSpanCount: [...refused].filter((spanId) => !last.has(spanId)).length,
  }
}

describe('traces: any events and any crash', () => {
  for (const seed of [1, 2, 3, 4, 5, 6]) {
    it(`sums up as a plain count does (seed ${seed})`, async () => {
      const random = createRandom(seed).below
      const span = (): GivenSpan => ({
        id: random(3_000),
        parent: random(10) === 0 ? null : random(3_000),
        atMs: random(1_000),
        forMs: random(50),
        status: random(5) === 0 ? 'error' : 'ok',
        service: `service ${random(4)}`,
      })
      const events = Array.from({ length: 24 }, (_, offset) =>
        random(6) === 0
          ? givenEvent('spans.refused', offset + 1, {
              refusedSpans: Array.from({ length: 5 }, () => ({
                traceId: traceIdOf('t'),
                spanId: spanIdOf(random(3_000)),
                reason: 'rejected_allowance',
              })),
            })
          : received(offset + 1, Array.from({ length: 1 + random(400) }, span)),
      )
      const store = await newStore()
      for (let from = 0; from < events.length;) {
        const batch = events.slice(from, from + 1 + random(5))
        for (let crashes = random(3); crashes > 0; crashes--) {
          for (const { workspaceId, entries } of (await changesOf(store, batch)).flat(1)) {
            const written = entries.filter(() => random(2) === 0)
            await store.writer.write(index, [{ workspaceId, entries: written }], { epoch: 'epoch-1', position: 0 })
          }
        }
        await fold(store, batch)
        from += batch.length
        const trace = store.dump(index).find(({ entry }) => entry.collection === 'traces')?.entry.document
        expect((trace as TraceDocument).summary).to.deep.include(plainSums(events.slice(0, from)))
      }
      const whole = await newStore()
      for (const event of events) await fold(whole, [event])
      expect(contents(store) === contents(whole), 'as without a crash').to.equal(true)
      const stored = store.dump(index).filter(({ entry }) => entry.collection === 'spans')
      const found = stored.map(({ entry }) => entry.document as SpanRecord).filter((span) => !isSuperseded(span))
      expect(found).to.have.length((plainSums(events) as { spanCount: number }).spanCount)
    }).timeout(300_000)
  }
})
