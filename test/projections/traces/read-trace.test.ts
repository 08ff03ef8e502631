import { expect } from 'chai'
import { buildName } from '#projections/rosters/build-name.ts'
import type { IndexReader, Progress } from '#projections/index-store.ts'
import { tracesProjection } from '#projections/traces/fold.ts'
import { nearestError, placesOfSpan, type WalkKey } from '#projections/traces/query.ts'
import { readTrace } from '#projections/traces/read-trace.ts'
import { refusedKeptMax } from '#projections/traces/trace-part.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import { givenEvent } from '#test/support/fold-harness.ts'
import { measuredReader } from '#test/support/measured-reader.ts'
import { describeOnEveryStore, foldIntoStore } from './every-store.ts'
import { msNs, noonNs, received, spanIdOf, traceIdOf, type GivenSpan } from './given.ts'
import { acme, readerOf } from './walked.ts'

const globex = workspaceIdOf('globex')
const dayMs = 86_400_000

describeOnEveryStore('traces: one whole trace', (newStore) => {
  it('comes in pages of some megabytes, with what its spans share, which stands on each', async () => {
    const count = 40
    const large = { region: 'eu '.repeat(300_000) }
    const spans = Array.from({ length: count }, (_, index) => ({ id: `s${index}`, atMs: index, resource: large }))
    const reader = await readerOf(newStore, [received(1, spans)])
    const found: string[] = []
    let after: WalkKey | undefined
    do {
      const page = await readTrace(reader, acme, traceIdOf('t'), {
        limit: 1_000,
        ...(after === undefined ? {} : { after }),
      })
      expect(page?.spans).to.have.length.within(1, 12)
      expect(page?.spans[0]?.resource.attributes).to.deep.include(large)
      found.push(...(page?.spans ?? []).map(({ span_id: id }) => id))
      after = page?.spans_next ?? undefined
    } while (after !== undefined)
    expect(found).to.deep.equal(spans.map(({ id }) => spanIdOf(id)))
  })

  it('reads a few at a time of what each span shares with no other', async () => {
    const spans = Array.from({ length: 40 }, (_, index) => ({
      id: `s${index}`,
      atMs: index,
      resource: { pod: index, region: 'e'.repeat(450_000) },
    }))
    const { reader, most } = measuredReader(await readerOf(newStore, [received(1, spans)]))
    const page = await readTrace(reader, acme, traceIdOf('t'), { limit: 1_000 })
    expect(page?.spans).to.have.length.within(1, 20)
    for (const [index, span] of (page?.spans ?? []).entries()) expect(span.resource.attributes['pod']).to.equal(index)
    expect(most.characters).to.be.below(9 * 1024 * 1024)
  })

  it('is shown without what its spans share where that is not there', async () => {
    const reader = await readerOf(newStore, [received(1, [{ id: 'a', resource: { region: 'eu' } }])])
    const read = await readTrace({ ...reader, get: async () => [] }, acme, traceIdOf('t'), { limit: 1 })
    const nothing = { attributes: {}, dropped_attributes_count: 0, schema_url: '' }
    expect(read?.spans.map(({ name, resource, scope }) => ({ name, resource, scope }))).to.deep.equal([
      { name: 'operation a', resource: nothing, scope: { name: '', version: '', ...nothing } },
    ])
  })

  it('gives the spans with everything they came with, a page at a time', async () => {
    const link = {
      traceId: traceIdOf('l'),
      spanId: spanIdOf('l'),
      traceState: 's',
      attributes: { l: 1 },
      droppedAttributesCount: 1,
      flags: 0,
    }
    const event = {
      timeNs: noonNs + 1n,
      name: 'e',
      attributes: { deep: { list: [1n << 60n] } },
      droppedAttributesCount: 2,
    }
    const reader = await readerOf(newStore, [
      received(1, [
        { id: 'b', parent: 'a', atMs: 2 },
        {
          id: 'a',
          atMs: 1,
          attributes: { big: 9_007_199_254_740_993n },
          links: [link],
          spanEvents: [event],
          resource: { region: 'eu' },
          cuts: ['cut'],
          sessionId: 'one',
          droppedAttributesCount: 3,
          droppedEventsCount: 4,
          droppedLinksCount: 5,
          traceState: 'of=a',
          status: 'error',
          statusMessage: 'why',
        },
      ]),
      received(2, [{ id: 'b', parent: 'a', atMs: 2 }]),
    ])
    const page = await readTrace(reader, acme, traceIdOf('t'), { limit: 1 })
    expect(page?.spans).to.deep.equal([
      {
        trace_id: traceIdOf('t'),
        span_id: spanIdOf('a'),
        parent_span_id: null,
        trace_state: 'of=a',
        flags: 1,
        name: 'operation a',
        kind: 'server',
        service: 'checkout',
        session_id: 'one',
        start: '2026-11-21T12:00:00.001000000Z',
        end: '2026-11-21T12:00:00.011000000Z',
        duration_ns: '10000000',
        status: { code: 'error', message: 'why' },
        attributes: { big: 9_007_199_254_740_993n },
        dropped_attributes_count: 3,
        events: [
          {
            time: '2026-11-21T12:00:00.000000001Z',
            name: 'e',
            attributes: { deep: { list: [1n << 60n] } },
            dropped_attributes_count: 2,
          },
        ],
        dropped_events_count: 4,
        links: [
          {
            trace_id: traceIdOf('l'),
            span_id: spanIdOf('l'),
            trace_state: 's',
            flags: 0,
            attributes: { l: 1 },
            dropped_attributes_count: 1,
          },
        ],
        dropped_links_count: 5,
        resource: {
          attributes: { 'service.name': 'checkout', region: 'eu' },
          dropped_attributes_count: 0,
          schema_url: '',
        },
        scope: { name: 'instrumentation', version: '1.0', attributes: {}, dropped_attributes_count: 0, schema_url: '' },
        repeated: 0,
        cuts: ['cut'],
      },
    ])
    const after = page?.spans_next ?? undefined
    const rest = await readTrace(reader, acme, traceIdOf('t'), { limit: 1, ...(after === undefined ? {} : { after }) })
    expect(rest?.spans.map(({ span_id, repeated }) => [span_id, repeated])).to.deep.equal([[spanIdOf('b'), 1]])
    expect(rest?.spans_next).to.equal(null)
    expect(rest?.summary.session_ids).to.deep.equal(['one'])
  })

  it('says what is missing and why', async () => {
    const store = newStore()
    await foldIntoStore(store, tracesProjection, [
      received(1, [
        { id: 'a', parent: 'over the allowance' },
        { id: 'b', parent: 'lost' },
        { id: 'c', parent: 'lost' },
      ]),
      givenEvent('spans.refused', 2, {
        refusedSpans: [
          { traceId: traceIdOf('t'), spanId: spanIdOf('over the allowance'), reason: 'rejected_allowance' },
          { traceId: traceIdOf('t'), spanId: spanIdOf('a leaf'), reason: 'rejected_invalid' },
          { traceId: traceIdOf('t'), spanId: spanIdOf('a'), reason: 'rejected_allowance' },
        ],
      }),
    ])
    const progress = { position: 5, at: 0, caughtUpAt: 0 }
    await store.writer.heartbeat(buildName(tracesProjection, 1), { ...progress, head: 5 })
    const read = await readTrace(store.reader, acme, traceIdOf('t'), { limit: 10 })
    expect(read?.missing).to.deep.equal([
      { span_id: spanIdOf('over the allowance'), referenced_by: [spanIdOf('a')], reason: 'rejected_allowance' },
      { span_id: spanIdOf('lost'), referenced_by: [spanIdOf('b'), spanIdOf('c')], reason: 'not_received' },
      { span_id: spanIdOf('a leaf'), referenced_by: [], reason: 'rejected_invalid' },
    ])
    expect(read?.summary).to.include({
      root: null,
      root_observed: false,
      missing_parent_count: 2,
      rejected_span_count: 2,
    })
    await store.writer.heartbeat(buildName(tracesProjection, 1), { ...progress, head: 6 })
    const behind = await readTrace(store.reader, acme, traceIdOf('t'), { limit: 10 })
    expect(behind?.missing[1]?.reason).to.equal('not_indexed_yet')
    const unknown = { ...store.reader, progress: async () => undefined }
    const reasons = (await readTrace(unknown, acme, traceIdOf('t'), { limit: 10 }))?.missing.map(({ reason }) => reason)
    expect(reasons?.[1]).to.equal('not_indexed_yet')
  })

  it('does not say that a span was not received while nobody folds the log', async () => {
    const store = newStore()
    await foldIntoStore(store, tracesProjection, [received(1, [{ id: 'b', parent: 'lost' }])])
    await store.writer.heartbeat(buildName(tracesProjection, 1), { position: 5, head: 5, at: 0, caughtUpAt: 0 })
    const reasonAt = async (nowMs: number) =>
      (await readTrace(store.reader, acme, traceIdOf('t'), { limit: 10, nowMs }))?.missing[0]?.reason
    expect(await reasonAt(1_000)).to.equal('not_received')
    expect(await reasonAt(60_000)).to.equal('not_indexed_yet')
  })

  it('does not say that a span was not received where the index has lost a day: it may have been of that day', async () => {
    const store = newStore()
    await foldIntoStore(store, tracesProjection, [received(1, [{ id: 'b', parent: 'lost' }])])
    const reasonWith = async (lostDays: Progress['lostDays'] = []) => {
      const at = Number(noonNs / msNs) + dayMs
      const progress = async () => ({ index: 'traces', after: 0, position: 5, head: 5, at, caughtUpAt: at, lostDays })
      return (await readTrace({ ...store.reader, progress }, acme, traceIdOf('t'), { limit: 10 }))?.missing[0]?.reason
    }
    expect(await reasonWith()).to.equal('not_received')
    expect(await reasonWith([{ workspaceId: acme, day: '2026-11-21' }])).to.equal('not_indexed_yet')
  })

  it('says that a span was not received where the index is behind by less than the trace is old', async () => {
    const store = newStore()
    await foldIntoStore(store, tracesProjection, [received(1, [{ id: 'b', parent: 'lost' }])])
    const startMs = Date.parse(
      (await readTrace(store.reader, acme, traceIdOf('t'), { limit: 1 }))?.spans[0]?.start ?? '',
    )
    const reasonAt = async (caughtUpAt: number) => {
      await store.writer.heartbeat(buildName(tracesProjection, 1), { position: 5, head: 6, at: caughtUpAt, caughtUpAt })
      return (await readTrace(store.reader, acme, traceIdOf('t'), { limit: 10 }))?.missing[0]?.reason
    }
    expect(await reasonAt(startMs + 299_000)).to.equal('not_indexed_yet')
    expect(await reasonAt(startMs + 301_000)).to.equal('not_received')
  })

  it('bounds what it tells of missing spans', async () => {
    const refusedSpans = Array.from({ length: 1_500 }, (_, index) => ({
      traceId: traceIdOf('t'),
      spanId: index.toString(16).padStart(16, '0'),
      reason: 'rejected_allowance' as const,
    }))
    const reader = await readerOf(newStore, [givenEvent('spans.refused', 1, { refusedSpans })])
    const read = await readTrace(reader, acme, traceIdOf('t'), { limit: 10 })
    expect(read?.missing).to.have.length(1_000)
    expect(read?.missing_truncated).to.equal(true)
    expect(read?.summary).to.include({ span_count: 0, start: null, rejected_span_count: 1_500 })
    expect(refusedKeptMax).to.be.greaterThan(1_500)
    const orphans = Array.from({ length: 1_001 }, (_, id) => ({ id, parent: `lost ${id}` }))
    const many = await readTrace(await readerOf(newStore, [received(1, orphans)]), acme, traceIdOf('t'), { limit: 10 })
    expect([many?.missing.length, many?.missing_truncated]).to.deep.equal([1_000, true])
    const children = Array.from({ length: 25 }, (_, id) => ({ id, parent: 'lost' }))
    const named = await readTrace(await readerOf(newStore, [received(1, children)]), acme, traceIdOf('t'), {
      limit: 10,
    })
    expect(named?.missing.map(({ referenced_by: names }) => names.length)).to.deep.equal([20])
  })

  it('knows nothing of a trace that was never named, nor of another workspace', async () => {
    const reader = await readerOf(newStore, [received(1, [{ id: 'a' }])])
    expect(await readTrace(reader, acme, traceIdOf('other'), { limit: 1 })).to.equal(undefined)
    expect(await readTrace(reader, globex, traceIdOf('t'), { limit: 1 })).to.equal(undefined)
  })

  it('tells where the pages begin that hold a span, also of a trace that went on after seven days', async () => {
    const spansFrom = (from: number, to: number): GivenSpan[] =>
      Array.from({ length: to - from }, (_, n) => ({
        id: `s${from + n}`,
        atMs: from + n,
        parent: from + n === 17 ? 'lost' : null,
      }))
    const later = { receivedAt: Date.UTC(2026, 10, 21, 12) + 8 * dayMs }
    const reader = await readerOf(newStore, [received(1, spansFrom(10, 25)), received(2, spansFrom(0, 10), later)])
    const limit = 10
    const first = async (name: string, place: 0 | 1): Promise<readonly (string | undefined)[]> => {
      const places = await placesOfSpan(reader, acme, { traceId: traceIdOf('t'), spanId: spanIdOf(name), limit })
      const after = places[place]
      const page = await readTrace(reader, acme, traceIdOf('t'), { limit, ...(after === undefined ? {} : { after }) })
      return [String(places.length), page?.spans[0]?.span_id]
    }
    for (const [name, count, page, before] of [
      ['s0', 0, 's0', 's0'],
      ['s9', 1, 's9', 's0'],
      ['s10', 2, 's10', 's10'],
      ['s19', 2, 's10', 's19'],
      ['s24', 2, 's20', 's24'],
      ['lost', 2, 's10', 's17'],
      ['unheard of', 0, 's0', 's0'],
    ] as const) {
      expect(await first(name, 0), name).to.deep.equal([String(count), spanIdOf(page)])
      expect(await first(name, 1), name).to.deep.equal([String(count), spanIdOf(before)])
    }
  })

  it('tells which error is nearest before a span and after it, in its trace and workspace', async () => {
    const failed = (id: string, atMs: number, trace = 't'): GivenSpan => ({ id, atMs, trace, status: 'error' })
    const reader = await readerOf(newStore, [
      received(1, [failed('a', 0), { id: 'b', atMs: 1 }, failed('c', 2), failed('other', 3, 'u'), failed('d', 4)]),
    ])
    const near = async (id: string, workspace = acme): Promise<readonly (string | undefined)[]> => {
      const of = { traceId: traceIdOf('t'), spanId: spanIdOf(id) }
      const [before, after] = (['desc', 'asc'] as const).map((direction) =>
        nearestError(reader, workspace, { ...of, direction }),
      )
      return [await before, await after]
    }
    const [a, c, d] = ['a', 'c', 'd'].map(spanIdOf)
    expect(await near('a')).to.deep.equal([undefined, c])
    expect(await near('b')).to.deep.equal([a, c])
    expect(await near('c')).to.deep.equal([a, d])
    expect(await near('d')).to.deep.equal([c, undefined])
    expect(await near('unheard of')).to.deep.equal([undefined, undefined])
    expect(await near('b', globex)).to.deep.equal([undefined, undefined])
  })
})

describeOnEveryStore('traces: one of very many spans', (newStore) => {
  const count = 16_050
  const last = count - 1
  const limit = 1_000
  let reader: IndexReader
  before(async () => {
    const parents = new Map<number, string | number>([
      [0, 'lost'],
      [1, last],
      [2, 'lost'],
      [last, 'refused'],
      [last - 1, 3],
    ])
    // Each part has parents of another: whichever is not read, they would be missing.
    const parentOf = (id: number): string | number => parents.get(id) ?? (id + 1_000) % count
    const spans = Array.from({ length: count }, (_, id) => ({ id, atMs: id, parent: parentOf(id) }))
    const refused = { traceId: traceIdOf('t'), spanId: spanIdOf('refused'), reason: 'rejected_allowance' as const }
    const whole = Array.from({ length: 20 }, (_, id) => ({
      trace: 'whole',
      id: `w${id}`,
      parent: id > 0 ? 'w0' : null,
    }))
    reader = await readerOf(newStore, [
      received(1, spans),
      received(2, [{ id: 7, atMs: 7, parent: 0 }]),
      givenEvent('spans.refused', 3, { refusedSpans: [refused] }),
      received(4, whole),
    ])
  })

  it('is looked through a megabyte at a time for what is missing of it', async () => {
    const measured = measuredReader(reader)
    const read = await readTrace(measured.reader, acme, traceIdOf('t'), { limit })
    expect(read?.missing).to.deep.equal([
      { span_id: spanIdOf('lost'), referenced_by: [spanIdOf(0), spanIdOf(2)], reason: 'not_received' },
      { span_id: spanIdOf('refused'), referenced_by: [spanIdOf(last)], reason: 'rejected_allowance' },
    ])
    expect(read?.missing_truncated).to.equal(false)
    expect(read?.spans.filter(({ repeated }) => repeated > 0).map(({ name }) => name)).to.deep.equal(['operation 7'])
    expect(measured.most.documents.get('parts')).to.equal(16)
  })

  it('leads to the page of a span by some places at a time', async () => {
    const { reader: measured, most } = measuredReader(reader)
    const asked = { traceId: traceIdOf('t'), spanId: spanIdOf(12_345), limit }
    const places = await placesOfSpan(measured, acme, asked)
    expect(places.map(({ value }) => (BigInt(value) - noonNs) / msNs)).to.deep.equal([11_999n, 12_344n])
    expect(most.places.get('spans')).to.equal(5_000)
    expect([...most.documents]).to.deep.equal([['spans', 1]])
  })

  it('is not looked through where it is all there', async () => {
    const { reader: measured, most } = measuredReader(reader)
    const read = await readTrace(measured, acme, traceIdOf('whole'), { limit })
    expect(read).to.deep.include({ missing: [], missing_truncated: false })
    expect(most.documents.has('parts')).to.equal(false)
  })
})
