import { readdirSync, readFileSync } from 'node:fs'
import { encode, ExtData } from '@msgpack/msgpack'
import { expect } from 'chai'
import { limits } from '#src/config.ts'
import type { LogRecord } from '#src/events/telemetry.ts'
import { decodeLogs } from '#src/wire/logs/decode.ts'
import { scanLogs, type LogScan } from '#src/wire/logs/scan.ts'

type Expected = Readonly<Omit<LogRecord, 'timeNs'> & { timeNs: string }>
type Golden = Readonly<{
  sender: string
  contentType: string | null
  body: string
  expected: Readonly<{ contentType: string; records: readonly Expected[] }>
}>

const receivedAt = 1_800_000_000_000
const folder = new URL('../../golden/logs/', import.meta.url)

function read(
  body: Uint8Array,
  contentType: string | undefined,
): Readonly<{ scan: LogScan; records: readonly LogRecord[] }> {
  const scanned = scanLogs(body, contentType, limits)
  if (!scanned.ok) throw new Error(scanned.error.detail)
  const { payload, contentType: kept } = scanned.value
  return { scan: scanned.value, records: decodeLogs(payload, kept, { receivedAt, limits }) }
}

describe('bodies of log senders', () => {
  for (const file of readdirSync(folder).sort()) {
    const golden = JSON.parse(readFileSync(new URL(file, folder), 'utf8')) as Golden
    it(`${file}: ${golden.sender}`, () => {
      const { scan, records } = read(Buffer.from(golden.body), golden.contentType ?? undefined)
      expect(scan.contentType).to.equal(golden.expected.contentType)
      expect(scan.rejected).to.deep.equal([])
      const shown = records.map(({ timeNs, level, message, service, traceId, spanId, sessionId }) => ({
        timeNs: timeNs === BigInt(receivedAt) * 1_000_000n ? 'arrival' : timeNs.toString(),
        ...{ level, message, service, traceId, spanId, sessionId },
      }))
      expect(shown).to.deep.equal(golden.expected.records)
      for (const record of records) expect(record.cuts).to.deep.equal([])
    })
  }
})

/** Fluent Bit's EventTime: extension 0, seconds and nanoseconds as 32-bit big-endian integers. */
function eventTime(seconds: number, nanoseconds: number): ExtData {
  const data = Buffer.alloc(8)
  data.writeUInt32BE(seconds, 0)
  data.writeUInt32BE(nanoseconds, 4)
  return new ExtData(0, data)
}

describe('MessagePack of Fluent Bit and Fluentd', () => {
  const timeNs = 1_795_247_820_123_456_789n
  const time = eventTime(1_795_247_820, 123_456_789)

  it('is a run of pairs of EventTime and map', () => {
    const body = Buffer.concat([
      encode([time, { log: 'a', stream: 'stdout' }]),
      encode([eventTime(1, 2), { log: 'b' }]),
    ])
    for (const type of ['application/msgpack', undefined]) {
      const { scan, records } = read(body, type)
      expect(scan.records).to.equal(2)
      expect(records.map((record) => [record.timeNs, record.message])).to.deep.equal([
        [timeNs, 'a'],
        [1_000_000_002n, 'b'],
      ])
      expect({ ...records[0]?.fields }).to.deep.equal({ log: 'a', stream: 'stdout' })
    }
  })

  it('has metadata beside the time since 2.1', () => {
    const { records } = read(encode([[time, {}], { log: 'a' }]), 'application/msgpack')
    expect(records[0]).to.deep.include({ timeNs, message: 'a' })
    expect(Object.keys(records[0]?.fields ?? {})).to.deep.equal(['log'])
    const withMetadata = read(encode([[time, { otlp: { x: 1 } }], { log: 'a' }]), 'application/msgpack').records[0]
    expect(JSON.stringify(withMetadata?.fields)).to.equal('{"log":"a","metadata":{"otlp":{"x":1}}}')
    const own = read(encode([[time, { x: 1 }], { log: 'a', metadata: 'mine' }]), 'application/msgpack').records[0]
    expect(JSON.stringify(own?.fields)).to.equal('{"log":"a","metadata":"mine"}')
  })

  it('may be an array of pairs, and have whole or fractional seconds', () => {
    const { records } = read(encode([[5, { log: 'a' }], [1.5, { log: 'b' }], [time, { log: 'c' }]]), 'application/msgpack') // prettier-ignore
    expect(records.map((record) => record.timeNs)).to.deep.equal([5_000_000_000n, 1_500_000_000n, timeNs])
  })

  it('gives way to a time among the fields', () => {
    const { records } = read(encode([time, { time: '2026-11-21T00:00:00Z' }]), 'application/msgpack')
    expect(records[0]?.timeNs).to.equal(BigInt(Date.parse('2026-11-21T00:00:00Z')) * 1_000_000n)
    expect(read(encode([time, { time: 'soon' }]), 'application/msgpack').records[0]?.timeNs).to.equal(timeNs)
  })
})
