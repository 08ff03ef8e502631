import { expect } from 'chai'
import type { IndexReader } from '#projections/index-store.ts'
import { histogramStepMs } from '#projections/reading/histogram.ts'
import { logsProjection } from '#projections/logs/fold.ts'
import { searchLogs, type LogPage, type LogRequest } from '#projections/logs/query.ts'
import { tracesProjection } from '#projections/traces/fold.ts'
import { searchTraces } from '#projections/traces/query.ts'
import type { TraceRequest } from '#projections/traces/trace-request.ts'
import { formatTimeNs } from '#src/lib/time.ts'
import { givenEvent } from '#test/support/fold-harness.ts'
import { acme, givenLogs, noonNs } from '../logs/given.ts'
import { describeOnEveryStore, foldIntoStore } from '../traces/every-store.ts'
import { givenSpan } from '../traces/given.ts'

const dayNs = 86_400_000_000_000n
const farNs = noonNs + dayNs
const lastNs = 9_223_372_036_854_775_807n
const minutes = (count: number): bigint => noonNs + BigInt(count) * 60_000_000_000n

describeOnEveryStore('histograms without an end', (newStore) => {
  async function readerOf(times: readonly bigint[]): Promise<IndexReader> {
    const store = newStore()
    const records = times.map((timeNs) => ({ timeNs, level: 'info' as const }))
    await foldIntoStore(store, logsProjection, [givenLogs(1, records)])
    return store.reader
  }
  async function counted(reader: IndexReader, request: Partial<LogRequest> = {}) {
    const asked = {
      order: 'asc',
      limit: 1,
      include: ['histogram', 'count'],
      fromNs: noonNs,
      farNs,
      ...request,
    } as const
    const page: LogPage = await searchLogs(reader, acme, asked)
    const { step_ms: stepMs, buckets } = page.histogram ?? { step_ms: 0, buckets: [] }
    expect(buckets.reduce((sum, { total }) => sum + total, 0)).to.equal(page.count)
    return { stepMs, buckets }
  }
  const near = [minutes(0), minutes(30), minutes(59)]

  it('count what is dated far ahead in one bucket more, which changes no other', async () => {
    const alone = await counted(await readerOf(near))
    expect(alone.stepMs).to.equal(60_000)
    const firstFarNs = farNs + 3_630_000_000_000n
    const { stepMs, buckets } = await counted(await readerOf([...near, firstFarNs, firstFarNs + 300n * dayNs, lastNs]))
    expect(stepMs).to.equal(alone.stepMs)
    expect(buckets.slice(0, -1)).to.deep.equal(alone.buckets)
    expect((await counted(await readerOf([...near, farNs]))).stepMs, 'far from that moment on').to.equal(alone.stepMs)
    const time = formatTimeNs(firstFarNs - 30_000_000_000n)
    expect(buckets.at(-1)).to.deep.equal({ time, total: 3, by_level: { info: 3 }, and_later: true })
  })

  it('count what is far ahead and shares the last bucket of the others there', async () => {
    const at = (minute: number): bigint => minutes(24 * 60 + minute)
    const times = [minutes(0), at(4), at(5), at(14)]
    const totals = async (given: readonly bigint[]) => {
      const { stepMs, buckets } = await counted(await readerOf(given), { farNs: at(5) })
      expect(stepMs).to.equal(900_000)
      return buckets.map(({ time, total, and_later: andLater }) => [time, total, andLater])
    }
    const shared = [
      [formatTimeNs(noonNs), 1, undefined],
      [formatTimeNs(at(0)), 3, undefined],
    ]
    expect(await totals(times)).to.deep.equal(shared)
    expect(await totals([...times, at(15), at(99_999)])).to.deep.equal([...shared, [formatTimeNs(at(15)), 2, true]])
  })

  it('count each value of what is far ahead', async () => {
    const store = newStore()
    const levels = ['warn', 'info', 'warn', null, 'info'] as const
    const far = levels.map((level, index) => ({ level, timeNs: farNs + BigInt(index) * 900n * dayNs }))
    await foldIntoStore(store, logsProjection, [givenLogs(1, [{ level: 'error', timeNs: noonNs }, ...far])])
    const { buckets } = await counted(store.reader)
    expect(buckets.at(-1)).to.deep.include({ total: 5, by_level: { info: 2, warn: 2 }, and_later: true })
  })

  it('are of what is far ahead where nothing else is, or nothing else is asked for', async () => {
    const far = [farNs + 365n * dayNs, farNs + 465n * dayNs]
    for (const [times, fromNs] of [
      [far, noonNs],
      [[minutes(5), ...far], farNs + dayNs],
    ] as const) {
      const { buckets } = await counted(await readerOf(times), { fromNs })
      expect(buckets.map(({ total, and_later: andLater }) => [total, andLater])).to.deep.equal([
        [1, undefined],
        [1, undefined],
      ])
    }
  })

  it('with an end are as wide as was asked for', async () => {
    const { buckets } = await counted(await readerOf([...near, farNs + dayNs]), { toNs: lastNs })
    expect(buckets.map(({ total, and_later: andLater }) => [total, andLater])).to.deep.equal([[4, undefined]])
  })

  it('are asked for with all else that is counted, so that it is of one moment', async () => {
    const store = newStore()
    await foldIntoStore(store, logsProjection, [givenLogs(1, [{ timeNs: noonNs }])])
    await foldIntoStore(store, tracesProjection, [givenEvent('spans.received', 1, { spans: [givenSpan({ id: 1 })] })])
    const logs: LogRequest = { order: 'asc', limit: 1, include: ['count', 'facets', 'histogram'] }
    const ofLogs = await askedAtOnce(store.reader, (reader) => searchLogs(reader, acme, logs))
    expect(ofLogs).to.deep.equal(['histogram', 'facets', 'count'])
    const traces: TraceRequest = { order: 'newest', limit: 1, include: ['facets', 'histogram'], service: 'checkout' }
    const ofTraces = await askedAtOnce(store.reader, (reader) => searchTraces(reader, acme, traces))
    expect(ofTraces).to.deep.equal(['histogram', 'facets'])
  })
})

/** What is asked in the turn of the event loop in which a histogram is, in order. */
async function askedAtOnce(
  of: IndexReader,
  ask: (reader: IndexReader) => Promise<unknown>,
): Promise<readonly string[]> {
  let turn: string[] = []
  let withHistogram: readonly string[] = []
  /** Answers nothing before the turn is over: what a reader is asked until then goes to its engine together (query-threads.ts). */
  const note = async <T>(name: string, answer: () => Promise<T>): Promise<T> => {
    turn.push(name)
    await new Promise<void>((resolve) => process.nextTick(resolve))
    if (turn.includes('histogram')) withHistogram = turn
    turn = []
    return answer()
  }
  await ask({
    ...of,
    histogram: (...asked) => note('histogram', () => of.histogram(...asked)),
    facets: (...asked) => note('facets', () => of.facets(...asked)),
    count: (...asked) => note('count', () => of.count(...asked)),
  })
  return withHistogram
}

describe('the step of a histogram', () => {
  it('cuts a range into a hundred buckets at most', () => {
    const steps = [100, 101].map((count) => histogramStepMs(noonNs, minutes(count)))
    expect(steps).to.deep.equal([60_000, 120_000])
  })
})
