import { Logtail } from '@logtail/node'
import { expect } from 'chai'
import { pino } from 'pino'
import { limits } from '#src/config.ts'
import type { LogRecord } from '#src/events/telemetry.ts'
import { decodeLogs } from '#src/wire/logs/decode.ts'
import { scanLogs } from '#src/wire/logs/scan.ts'
import { startReceiver, type Receiver } from './receiver.ts'

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
const spanId = '00f067aa0ba902b7'

function read(body: Uint8Array, contentType: string | undefined): readonly LogRecord[] {
  const scanned = scanLogs(body, contentType, limits)
  if (!scanned.ok) throw new Error(scanned.error.detail)
  expect(scanned.value.rejected).to.deep.equal([])
  return decodeLogs(scanned.value.payload, scanned.value.contentType, { receivedAt: 0, limits })
}

describe('published log senders', () => {
  let receiver: Receiver
  beforeEach(async () => {
    receiver = await startReceiver(200)
  })
  afterEach(() => receiver.close())

  it('@logtail/node: gzipped MessagePack, and an empty array on flush', async () => {
    const logtail = new Logtail('token', { endpoint: receiver.url })
    const before = Date.now()
    await Promise.all([
      logtail.warn('slow', {
        trace_id: traceId,
        span_id: spanId,
        big: 12_345_678_901_234,
        nested: { a: [1, 2.5, null] },
      }),
      logtail.error(new Error('boom')),
    ])
    await logtail.flush()
    const { headers, body } = await receiver.request(({ body }) => body.length > 1)
    expect(headers['content-type']).to.equal('application/msgpack')
    const [slow, boom] = read(body, headers['content-type'])
    expect(slow).to.include({ level: 'warn', message: 'slow', traceId, spanId, source: 'logs' })
    expect(Number((slow?.timeNs ?? 0n) / 1_000_000n)).to.be.within(before, Date.now())
    expect(slow?.fields['big']).to.equal(12_345_678_901_234)
    expect(JSON.stringify(slow?.fields['nested'])).to.equal('{"a":[1,2.5,null]}')
    expect(JSON.stringify(slow?.fields['context'])).to.contain('runtime')
    expect(boom).to.include({ level: 'error', message: 'boom' })
    for (const request of receiver.requests)
      expect(() => read(request.body, request.headers['content-type'])).to.not.throw()
  })

  it('pino: lines with millisecond times and numeric levels', () => {
    const lines: string[] = []
    const logger = pino({ level: 'trace', base: { service: 'shop' } }, { write: (line: string) => lines.push(line) })
    const before = Date.now()
    logger.trace({ trace_id: traceId, span_id: spanId }, 'first')
    logger.fatal({ err: new Error('boom'), session_id: 's-1' }, 'second')
    logger.info({ time: 'mine' }, 'third')
    const records = read(Buffer.from(lines.join('')), undefined)
    expect(records.map(({ level, message, service }) => [level, message, service])).to.deep.equal([
      ['trace', 'first', 'shop'],
      ['fatal', 'second', 'shop'],
      ['info', 'third', 'shop'],
    ])
    expect(records[0]).to.include({ traceId, spanId })
    expect(records[1]).to.include({ sessionId: 's-1' })
    expect(Number((records[0]?.timeNs ?? 0n) / 1_000_000n)).to.be.within(before, Date.now())
    expect(JSON.stringify(records[1]?.fields['err'])).to.contain('boom')
  })
})
