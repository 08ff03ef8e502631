import { expect } from 'chai'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { limits } from '#src/config.ts'
import type { LogRecord, Span } from '#src/events/telemetry.ts'
import { present } from '#src/lib/assert.ts'
import { decodeLogs } from '#src/wire/logs/decode.ts'
import { decodeSpans } from '#src/wire/otlp/decode.ts'
import { bodyCount, openBodies, type Bodies } from './bodies.ts'
import { logFigures, traceFigures, type Figure } from './peer-questions.ts'
import { makePeerLogs, makePeerSpans, rowsAbove } from './peer-records.ts'
import { fullScale, type BenchContext } from './scale.ts'

function decoded<T>(bodies: Bodies, decode: (body: Buffer) => readonly T[]): readonly T[] {
  const reader = openBodies(bodies)
  const all = Array.from({ length: bodyCount(bodies) }, (_, index) => decode(reader.read(index))).flat()
  reader.close()
  return all
}
const logsIn = (bodies: Bodies): readonly LogRecord[] =>
  decoded(bodies, (body) => decodeLogs(body, bodies.headers['content-type'] ?? '', { receivedAt: 0, limits }))
const spansIn = (bodies: Bodies): readonly Span[] =>
  decoded(bodies, (body) => decodeSpans(gunzipSync(body), 'application/x-protobuf', limits))

// Without the peers themselves, which take minutes to build: each run of the benchmark checks what they find.
describe('bench peers', () => {
  let context: BenchContext
  before(() => {
    const scale = { ...fullScale, logs: 3_000, spans: 3_000, warmUp: 100 }
    const folder = mkdtempSync(join(tmpdir(), 'peers-'))
    context = { scale, folder, startMs: Date.UTC(2026, 10, 21, 8), say: () => {} }
  })
  after(() => rmSync(context.folder, { recursive: true, force: true }))

  const named = (figures: readonly Figure[], name: string): Figure =>
    present(
      figures.find(({ figure }) => figure.startsWith(name)),
      name,
    )

  it('send logs a line each, and count in them what is asked for', () => {
    const { bodies, facts } = makePeerLogs(context)
    const records = logsIn(bodies)
    expect(records).to.have.length(3_000)
    expect(records.filter(({ fields }) => Number(fields['rows']) > rowsAbove)).to.have.length(facts.above)
    expect(facts.above).to.be.above(0)
    expect(facts.byTrace).to.have.property('size', 100)
    for (const [id, logs] of facts.byTrace) {
      expect(records.filter(({ traceId }) => traceId === id)).to.have.length(logs)
    }
    const inner = named(logFigures(facts, 0), 'part of a word').questions[0]
    expect(inner).to.include({ what: '*omplete*', count: 100 })
  })

  it('warm up with what no search asks for', () => {
    const [logs, spans] = [makePeerLogs(context), makePeerSpans(context)]
    const warmUp = [
      ...logsIn(logs.warmUp).map(({ timeNs }) => timeNs),
      ...spansIn(spans.warmUp).map((span) => span.endNs),
    ]
    const asked = [
      ...logsIn(logs.bodies).map(({ timeNs }) => timeNs),
      ...spansIn(spans.bodies).map((span) => span.startNs),
    ]
    const fromNs = BigInt(logs.startMs) * 1_000_000n
    expect(spans.startMs).to.equal(logs.startMs)
    expect(warmUp).to.have.length(200)
    expect(warmUp.every((timeNs) => timeNs < fromNs)).to.equal(true)
    expect(asked.every((timeNs) => timeNs >= fromNs)).to.equal(true)
  })

  it('read the same from the answers of both', () => {
    const same = ({ read }: Figure, ours: object, theirs: string, count: number): void => {
      const found = read.ours(JSON.stringify(ours))
      expect(found.count).to.equal(count)
      expect(read.theirs(theirs)).to.deep.equal(found)
    }
    const logs = logFigures(makePeerLogs(context).facts, 0)
    const times = ['2026-11-21T08:00:00.120000000Z', '2026-11-21T08:00:00.000000000Z']
    const lines = '{"_time":"2026-11-21T08:00:00.12Z"}\n{"_time":"2026-11-21T08:00:00Z"}\n'
    same(named(logs, 'a word'), { logs: times.map((timestamp) => ({ timestamp })) }, lines, 2)
    const buckets = [{ total: 3 }, { total: 4 }]
    same(named(logs, 'histogram of all'), { histogram: { buckets } }, '{"hits":[{"values":[5]},{"values":[2]}]}', 7)
    same(named(logs, 'histogram of a word'), { histogram: { buckets: [] } }, '{"hits":[]}', 0)

    const traces = traceFigures(makePeerSpans(context).facts, 0)
    const spans = (...ids: readonly (readonly [string, string])[]) => ({
      scopeSpans: [{ spans: ids.map(([traceId, spanId]) => ({ traceId, spanId })) }],
    })
    const whole = { result: { resourceSpans: [spans(['a', '2'], ['a', '1']), spans(['a', '3'])] } }
    const ours = { trace: { spans: [{ span_id: '1' }, { span_id: '2' }, { span_id: '3' }] } }
    same(named(traces, 'a trace'), ours, JSON.stringify(whole), 3)
    const two = { result: { resourceSpans: [spans(['b', '2'], ['a', '1']), spans(['b', '3'])] } }
    const summaries = { traces: [{ trace_id: 'a' }, { trace_id: 'b' }] }
    same(named(traces, 'traces by service'), summaries, JSON.stringify(two), 2)
    same(named(traces, 'traces of a service'), summaries, '{"data":[{"traceID":"b"},{"traceID":"c"}]}', 2)
  })
})
