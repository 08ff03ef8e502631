import { expect } from 'chai'
import { bringPython } from '../../infra/machine/python.ts'
import { parseJson, type JsonObject } from '#src/lib/json.ts'
import { at, listOf, signIn, untilIndexed, withKey, type Reader } from '../support/client.ts'
import { runNode, runProgram } from '../support/run-program.ts'
import { expectSpan, nanoseconds, type SentSpan } from '../support/sent-span.ts'
import { borrowServer, type LentServer } from '../support/lent-server.ts'

const pinoLevels = new Map<unknown, string>([
  [10, 'trace'],
  [20, 'debug'],
  [30, 'info'],
  [40, 'warn'],
  [50, 'error'],
  [60, 'fatal'],
])
const parseLines = (lines: readonly string[]): readonly JsonObject[] =>
  lines.map((line) => parseJson(line) as JsonObject)
/** `{"a":1,…}` on lines of their own, among whatever else a program prints. */
const jsonLines = (lines: readonly string[]): readonly JsonObject[] =>
  parseLines(lines.filter((line) => line.startsWith('{')))

describe('further real senders, found again with equal content', () => {
  let server: LentServer
  let reader: Reader

  before(async () => {
    server = await borrowServer()
    reader = await signIn(server.baseUrl, server.firstRun.sign_in)
  })
  after(async () => {
    await server.giveBack()
  })

  /** The logs of a search, oldest first, by message; each must be there once. */
  async function logsByMessage(query: string): Promise<ReadonlyMap<unknown, JsonObject>> {
    await untilIndexed(server)
    const { status, body } = await reader.get(`/api/app/logs/search?${query}&order=asc&limit=1000`)
    expect(status, query).to.equal(200)
    const logs = listOf(body, 'logs')
    const byMessage = new Map(logs.map((log) => [log['message'], log]))
    expect(byMessage.size, 'each once').to.equal(logs.length)
    return byMessage
  }

  describe('pino-http-send, Basic credentials', () => {
    for (const body of ['json', 'ndjson']) {
      it(`as ${body}`, async () => {
        const lines = await runNode('pino.ts', `orders-${body}`)
        const settings = ['--url', `${server.baseUrl}/api/logs/v1/ingest`, '-b', body, '-s', '3']
        const credential = ['-u', 'source', '-p', server.firstRun.keys.logs]
        await runProgram('node_modules/.bin/pino-http-send', [...settings, ...credential], {
          input: `${lines.join('\n')}\n`,
        })
        const found = await logsByMessage(`service=orders-${body}`)
        const sent = parseLines(lines)
        expect([...found.keys()]).to.have.members(sent.map((line) => line['msg']))
        expect(found.size).to.equal(6)
        for (const line of sent) {
          const log = found.get(line['msg'])
          expect(log?.['fields']).to.deep.equal(line)
          expect(log?.['level']).to.equal(pinoLevels.get(line['level']))
          expect(nanoseconds(log?.['timestamp'])).to.equal(`${String(line['time'])}000000`)
          expect(log?.['trace_id']).to.equal(line['trace_id'] ?? null)
          expect(log?.['span_id']).to.equal(line['span_id'] ?? null)
        }
        expect(at(found.get('order stored'), 'fields', 'order')).to.equal(9007199254740991)
      })
    }
  })

  describe("winston's Http transport", () => {
    for (const mode of ['single', 'batch']) {
      it(mode, async () => {
        const { hostname, port } = new URL(server.baseUrl)
        const sent = jsonLines(await runNode('winston.ts', hostname, port, server.firstRun.keys.logs, mode))
        expect(sent).to.have.length(7)
        const found = await logsByMessage(`service=parcels-${mode}`)
        expect([...found.keys()]).to.have.members(sent.map((record) => record['message']))
        // Words that only npm's levels have, each between its neighbours.
        const levels = new Map([
          ['http', 'debug'],
          ['verbose', 'trace'],
          ['silly', 'trace'],
        ])
        for (const record of sent) {
          const log = found.get(record['message'])
          expect(log?.['fields']).to.deep.equal(record)
          expect(log?.['level']).to.equal(levels.get(String(record['level'])) ?? record['level'])
          expect(Date.parse(String(log?.['timestamp']))).to.equal(Date.parse(String(record['timestamp'])))
          expect([log?.['trace_id'], log?.['span_id']]).to.deep.equal([record['trace_id'], record['span_id']])
        }
      })
    }
  })

  it('@logtail/pino as a transport of pino', async () => {
    const url = `${server.baseUrl}/api/logs/v1/ingest`
    const sent = jsonLines(await runNode('logtail-pino.ts', url, server.firstRun.keys.logs))
    expect(sent).to.have.length(6)
    const found = await logsByMessage('service=returns')
    expect([...found.keys()]).to.have.members(sent.map((line) => line['msg']))
    for (const line of sent) {
      const log = found.get(line['msg'])
      expect(log?.['level']).to.equal(pinoLevels.get(line['level']))
      expect(Date.parse(String(log?.['timestamp']))).to.equal(Date.parse(String(line['time'])))
      expect(log?.['trace_id']).to.equal(line['trace_id'] ?? null)
      expect(log?.['span_id']).to.equal(line['span_id'] ?? null)
      const { time: _time, msg: _msg, level: _level, ...rest } = line
      expect(log?.['fields']).to.deep.include(rest)
    }
  })

  describe('the OpenTelemetry SDK for Node, configured by its environment only', () => {
    for (const protocol of ['http/protobuf', 'http/json']) {
      for (const variable of ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_EXPORTER_OTLP_ENDPOINT']) {
        it(`${variable}, ${protocol}`, async () => {
          const service = `${protocol}-${variable}`
          const environment = {
            [variable]: `${server.baseUrl}/api/traces/v1/otlp`,
            OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
            OTEL_EXPORTER_OTLP_HEADERS: `Authorization=Bearer%20${server.firstRun.keys.tracing}`,
            OTEL_SERVICE_NAME: service,
            OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test,team=parcels%20%26%20returns',
          }
          const lines = await runProgram(process.execPath, ['test/e2e/programs/otel-env.ts'], { environment })
          const sent = lines.map((line) => JSON.parse(line) as SentSpan)
          expect(sent).to.have.length(6)
          await untilIndexed(server)
          for (const span of sent) {
            expect(span.resource['team']).to.equal('parcels & returns')
            await expectSpan(reader, span)
          }
          const listing = await withKey(server.baseUrl, server.firstRun.keys.api).get(
            `/api/v1/traces?service=${encodeURIComponent(service)}`,
          )
          expect(listOf(listing.body, 'data').map((trace) => trace['trace_id'])).to.have.members([
            ...new Set(sent.map(({ traceId }) => traceId)),
          ])
        })
      }
    }
  })

  for (const contentType of ['application/x-protobuf', 'application/json']) {
    it(`a sender that is given the server’s own address is told which path to name, in ${contentType}`, async () => {
      for (const [path, told] of [
        ['/v1/traces', 'Traces are taken at /api/traces/v1/otlp: name that path in OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'],
        ['/v1/metrics', 'Only traces are taken over OTLP, at /api/traces/v1/otlp: set OTEL_METRICS_EXPORTER=none'],
        ['/v1/logs', 'for logs there is /api/logs/v1/ingest. To end this, set OTEL_LOGS_EXPORTER=none'],
        ['/v1/logs', 'in an agent such as the Collector take this exporter out of its logs pipeline'],
        ['/api/traces/v1/otlp/v1/metrics', 'set OTEL_METRICS_EXPORTER=none'],
      ] as const) {
        const headers = { authorization: `Bearer ${server.firstRun.keys.tracing}`, 'content-type': contentType }
        const response = await fetch(server.baseUrl + path, { method: 'POST', headers, body: '' })
        expect(response.status).to.equal(404)
        expect(response.headers.get('content-type')).to.equal(contentType)
        expect(await response.text()).to.include(told)
      }
    })
  }

  describe('Python', () => {
    let python: string
    before(async () => {
      python = process.env['SENDERS_PYTHON'] ?? (await bringPython())
    })

    for (const compression of ['none', 'gzip']) {
      it(`opentelemetry-exporter-otlp-proto-http, compression ${compression}`, async () => {
        const url = `${server.baseUrl}/api/traces/v1/otlp`
        const args = ['test/e2e/programs/otlp.py', url, server.firstRun.keys.tracing, compression]
        const sent = (await runProgram(python, args)).map((line) => parseJson(line) as unknown as SentSpan)
        expect(sent).to.have.length(10)
        expect(sent[0]?.attributes['limit']).to.equal(9223372036854775807n)
        await untilIndexed(server)
        for (const span of sent) await expectSpan(reader, span)
      })
    }

    it('logtail-python', async () => {
      const args = [
        'test/e2e/programs/logtail_handler.py',
        `${server.baseUrl}/api/logs/v1/ingest`,
        server.firstRun.keys.logs,
      ]
      const sent = jsonLines(await runProgram(python, args))
      expect(sent).to.have.length(5)
      const found = await logsByMessage('service=ledger')
      expect([...found.keys()]).to.have.members(sent.map((record) => record['message']))
      const levels = new Map([
        ['warning', 'warn'],
        ['critical', 'fatal'],
      ])
      for (const record of sent) {
        const log = found.get(record['message'])
        expect(log?.['level']).to.equal(levels.get(String(record['level'])) ?? record['level'])
        expect(log?.['trace_id']).to.equal('4bf92f3577b34da6a3ce929d0e0e4736')
        expect(log?.['span_id']).to.equal('00f067aa0ba902b7')
        expect(at(log, 'fields', 'entry')).to.deep.equal(record['entry'])
        expect(at(log, 'fields', 'entry', 'cents')).to.equal(9223372036854775807n)
        expect(at(log, 'fields', 'context', 'runtime', 'line')).to.equal(record['line'])
        expect(log?.['timestamp']).to.equal(record['time'])
      }
    })
  })
})
