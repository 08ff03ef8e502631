import { expect } from 'chai'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { limits } from '#src/config.ts'
import type { Span } from '#src/events/telemetry.ts'
import { decodeLogs } from '#src/wire/logs/decode.ts'
import { decodeSpans } from '#src/wire/otlp/decode.ts'
import { scanSpans } from '#src/wire/otlp/scan.ts'
import { bodyCount, openBodies, type Bodies } from './bodies.ts'
import { makeLogCorpus } from './log-corpus.ts'
import { makeSpanCorpus, slowMs } from './span-corpus.ts'

const startMs = Date.UTC(2026, 10, 21, 8)

describe('bench corpora', () => {
  let folder: string
  before(() => (folder = mkdtempSync(join(tmpdir(), 'corpora-'))))
  after(() => rmSync(folder, { recursive: true, force: true }))

  const bodiesOf = (bodies: Bodies): Buffer[] => {
    const reader = openBodies(bodies)
    const all = Array.from({ length: bodyCount(bodies) }, (_, index) => reader.read(index))
    reader.close()
    return all
  }

  describe('spans', () => {
    const options = { seed: 7, spans: 5_250, spansPerRequest: 500, startMs }
    const make = (name: string, given = options) => makeSpanCorpus(join(folder, name), given)
    const decode = (bodies: Bodies): Span[] =>
      bodiesOf(bodies).flatMap((body) => [...decodeSpans(gunzipSync(body), 'application/x-protobuf', limits)])

    it('depend on the seed alone', () => {
      const [first, second] = [make('a'), make('b')]
      expect(readFileSync(first.bodies.file).equals(readFileSync(second.bodies.file))).to.equal(true)
      expect(second.facts).to.deep.equal(first.facts)
      const other = make('c', { ...options, seed: 8 })
      expect(readFileSync(other.bodies.file).equals(readFileSync(first.bodies.file))).to.equal(false)
    })

    it('are requests of 500 that the scan takes whole', () => {
      const { bodies } = make('a')
      const counts = bodiesOf(bodies).map((body) => {
        const scan = scanSpans(gunzipSync(body), 'application/x-protobuf', limits)
        return scan.ok && scan.value.invalid.length === 0 ? scan.value.spans : -1
      })
      expect(counts).to.deep.equal([...Array.from({ length: 10 }, () => 500), 250])
    })

    it('are whole trees of 5 to 60 spans over at least eight services, of about 550 bytes and 20 attributes a span', () => {
      const { bodies, facts } = make('a')
      const spans = decode(bodies)
      expect(spans).to.have.length(options.spans)
      expect(new Set(spans.map(({ spanId }) => spanId)).size).to.equal(options.spans)
      const traces = Map.groupBy(spans, ({ traceId }) => traceId)
      expect(traces.size).to.equal(facts.traces)
      const [...sizes] = [...traces.values()].map(({ length }) => length)
      expect(Math.max(...sizes)).to.be.within(50, 60)
      // The last trace is cut to the number of spans asked for.
      expect(Math.min(...sizes.slice(0, -1))).to.be.at.least(1)
      for (const ofTrace of traces.values()) {
        const ids = new Set(ofTrace.map(({ spanId }) => spanId))
        expect(ofTrace.filter(({ parentSpanId }) => parentSpanId === null)).to.have.length(1)
        expect(ofTrace.every(({ parentSpanId: id }) => id === null || ids.has(id))).to.equal(true)
        expect(new Set(ofTrace.flatMap(({ sessionId }) => sessionId ?? [])).size).to.be.at.most(1)
      }
      expect(new Set(spans.map(({ service }) => service)).size).to.be.within(8, 12)
      expect(bodies.rawBytes / options.spans).to.be.within(500, 600)
      const attributes = spans.map((span) => Object.keys({ ...span.attributes, ...span.resource.attributes }).length)
      expect(attributes.reduce((sum, count) => sum + count, 0) / spans.length).to.be.within(18, 24)
    })

    it('are as their facts say', () => {
      const { bodies, facts } = make('a')
      const spans = decode(bodies)
      for (const { traceId, spans: count } of facts.samples) {
        expect(spans.filter((span) => span.traceId === traceId)).to.have.length(count)
      }
      for (const { service, operation, traces } of facts.slow) {
        const slow = spans.filter(
          (span) =>
            span.service === service &&
            span.name === operation &&
            span.kind === 'server' &&
            span.endNs - span.startNs >= BigInt(slowMs) * 1_000_000n,
        )
        expect(new Set(slow.map(({ traceId }) => traceId)).size, `${service} ${operation}`).to.equal(traces)
      }
      expect(facts.failed).to.have.length.above(5)
      for (const { service, traces } of facts.failed) {
        const failed = spans.filter((span) => span.service === service && span.status.code === 'error')
        expect(new Set(failed.map(({ traceId }) => traceId)).size, service).to.equal(traces)
      }
    })
  })

  describe('logs', () => {
    const options = { seed: 7, records: 3_210, recordsPerRequest: 500, startMs }
    const make = (name: string, given = options) => makeLogCorpus(join(folder, name), given)

    it('depend on the seed alone', () => {
      const [first, second] = [make('a'), make('b')]
      expect(readFileSync(first.bodies.file).equals(readFileSync(second.bodies.file))).to.equal(true)
      expect(second.facts).to.deep.equal(first.facts)
    })

    it('are arrays of 500, of about 300 bytes a record, and as their facts say', () => {
      const { bodies, facts } = make('a')
      const records = bodiesOf(bodies).flatMap((body) =>
        decodeLogs(body, 'application/json', { receivedAt: 0, limits }),
      )
      expect(bodyCount(bodies)).to.equal(7)
      expect(records).to.have.length(options.records)
      expect(bodies.rawBytes / options.records).to.be.within(270, 330)
      for (const [level, count] of Object.entries(facts.byLevel)) {
        expect(records.filter((record) => record.level === level)).to.have.length(count)
      }
      for (const { q, matches } of facts.words) {
        expect(records.filter(({ message }) => message.includes(q))).to.have.length(matches)
        expect(records.filter(({ fields }) => JSON.stringify(fields).includes(q))).to.have.length(matches)
      }
    })

    it('name traces of the span corpus of the same seed', () => {
      const spans = makeSpanCorpus(join(folder, 'spans'), { seed: 7, spans: 3_000, spansPerRequest: 500, startMs })
      const [sample] = spans.facts.samples
      const { bodies } = make('a')
      const named = bodiesOf(bodies).some((body) => body.includes(sample?.traceId ?? 'none'))
      expect(named).to.equal(true)
    })

    it('one a request are single objects', () => {
      const { bodies } = make('lines', { ...options, records: 3, recordsPerRequest: 1 })
      for (const body of bodiesOf(bodies))
        expect(JSON.parse(body.toString())).to.be.an('object').that.is.not.an('array')
    })
  })
})
