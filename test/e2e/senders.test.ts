import { expect } from 'chai'
import type { JsonObject } from '#src/lib/json.ts'
import { at, listOf, signIn, untilIndexed, type Reader } from '../support/client.ts'
import { runNode, runProgram } from '../support/run-program.ts'
import { expectSpan, nanoseconds, type SentSpan } from '../support/sent-span.ts'
import { borrowServer, type LentServer } from '../support/lent-server.ts'

describe('real senders, found again with equal content', () => {
  let server: LentServer
  let reader: Reader

  before(async () => {
    server = await borrowServer()
    reader = await signIn(server.baseUrl, server.firstRun.sign_in)
  })
  after(async () => {
    await server.giveBack()
  })

  for (const [encoding, compression] of [
    ['proto', 'none'],
    ['proto', 'gzip'],
    ['json', 'none'],
    ['json', 'gzip'],
  ] as const) {
    it(`OpenTelemetry SDK, OTLP/HTTP ${encoding}, compression ${compression}`, async () => {
      const url = `${server.baseUrl}/api/traces/v1/otlp`
      const lines = await runNode('otel.ts', encoding, compression, url, server.firstRun.keys.tracing, '10')
      const sent = lines.map((line) => JSON.parse(line) as SentSpan)
      expect(sent).to.have.length(20)
      await untilIndexed(server)
      for (const span of sent) await expectSpan(reader, span)

      const { body } = await reader.get(`/api/app/traces/search?service=shop-${encoding}&status=error&limit=100`)
      const failed = new Set(sent.filter(({ status }) => status === 'error').map(({ traceId }) => traceId))
      const listed = new Set(listOf(body, 'traces').map((trace) => String(trace['trace_id'])))
      for (const traceId of failed) expect(listed).to.include(traceId)
    })
  }

  it('@logtail/node, MessagePack and gzip', async () => {
    const url = `${server.baseUrl}/api/logs/v1/ingest`
    const started = Date.now()
    await runNode('logtail.ts', url, server.firstRun.keys.logs, '20')
    await untilIndexed(server)
    const { body } = await reader.get('/api/app/logs/search?service=billing&order=asc&limit=100')
    const logs = listOf(body, 'logs')
    const expected = Array.from({ length: 20 }, (_, index) => `logtail line ${index}`)
    expect(logs.map((log) => log['message'])).to.have.members(expected)
    for (const log of logs) {
      const index = Number(String(log['message']).split(' ').at(-1))
      expect(log['level']).to.equal(['debug', 'info', 'warn', 'error'][index % 4])
      expect(log['trace_id']).to.equal('0af7651916cd43dd8448eb211c80319c')
      expect(at(log, 'fields', 'nested')).to.deep.equal({ amount: 12.5, currency: '€' })
      expect(at(log, 'fields', 'order')).to.equal(index)
      expect(Date.parse(String(log['timestamp']))).to.be.within(started, Date.now())
    }
  })

  it('pino, its JSON lines piped through curl', async () => {
    const lines = await runNode('pino.ts')
    await runProgram(
      'curl',
      [
        '-fsS',
        `${server.baseUrl}/api/logs/v1/ingest`,
        '-H',
        `Authorization: Bearer ${server.firstRun.keys.logs}`,
      ].concat(['-H', 'Content-Type: application/x-ndjson', '--data-binary', '@-']),
      { input: `${lines.join('\n')}\n` },
    )
    await untilIndexed(server)
    const { body } = await reader.get('/api/app/logs/search?service=orders&order=asc&limit=100')
    const logs = listOf(body, 'logs')
    const byLevel = logs.map((log) => [log['level'], log['message']])
    expect(byLevel).to.have.deep.members([
      ['trace', 'entering'],
      ['debug', 'looked up'],
      ['info', 'order stored'],
      ['warn', 'slow reply'],
      ['error', 'order failed'],
      ['fatal', 'giving up'],
    ])
    const stored = logs.find((log) => log['level'] === 'info')
    expect(at(stored, 'fields', 'order')).to.equal(9007199254740991)
    expect(stored?.['trace_id']).to.equal('4bf92f3577b34da6a3ce929d0e0e4736')
    expect(stored?.['span_id']).to.equal('00f067aa0ba902b7')
    for (const [index, log] of logs.entries()) {
      const sent = lines.map((line) => JSON.parse(line) as JsonObject).find((line) => line['msg'] === log['message'])
      expect(log['fields'], `line ${index}`).to.deep.equal(sent)
      expect(Date.parse(String(log['timestamp']))).to.equal(sent?.['time'])
    }
  })

  it('curl, with 64-bit integers and nanoseconds to the digit', async () => {
    const time = `${BigInt(Date.now()) * 1_000_000n + 123_457n}`
    const record = `{"timestamp":"${time}","level":"warn","message":"exact","service":"curl","big":9223372036854775807,"low":-9223372036854775808}`
    await runProgram('curl', [
      ...['-fsS', `${server.baseUrl}/api/logs/v1/ingest`, '-H', `Authorization: Bearer ${server.firstRun.keys.logs}`],
      ...['-H', 'Content-Type: application/json', '-d', record],
    ])
    await untilIndexed(server)
    const { body } = await reader.get('/api/app/logs/search?service=curl')
    const [log] = listOf(body, 'logs')
    expect(nanoseconds(log?.['timestamp'])).to.equal(time)
    expect(at(log, 'fields', 'big')).to.equal(9223372036854775807n)
    expect(at(log, 'fields', 'low')).to.equal(-9223372036854775808n)
  })
})
