import { request } from 'node:http'
import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import { z } from 'zod'
import { limits } from '#src/config.ts'
import { parseJson, stringifyJson, type Json, type JsonObject } from '#src/lib/json.ts'
import { formatTimeNs } from '#src/lib/time.ts'
import { createOpenApiDocument } from '#src/openapi/document.ts'
import { operations, type Operation } from '#src/openapi/operations.ts'
import { createTenant, type Tenant } from '../support/tenant.ts'
import {
  answerOf,
  at,
  cookieOf,
  listOf,
  signIn,
  untilIndexed,
  untilServed,
  withKey,
  type Reader,
} from '../support/client.ts'
import { borrowServer, type LentServer } from '../support/lent-server.ts'
import { hex, otlpJson } from '../support/telemetry.ts'
import { sendingTo } from '../support/workspace.ts'

const traceId = hex(32, 'documented')
const farNs = 4_102_444_800_000_000_000n
const document = createOpenApiDocument('0.0.0')

/** A schema of the document as something that checks: its references stay within its own definitions. */
function checkOf(schema: Json | undefined): z.ZodType {
  const text = JSON.stringify({ $defs: at(document, 'components', 'schemas'), ...(schema as JsonObject) })
  return z.fromJSONSchema(JSON.parse(text.replaceAll('#/components/schemas/', '#/$defs/')) as never)
}

/** The answer's own text, checked against what the document says and against the schema that it was made from. */
async function check(operation: Operation, response: Response): Promise<void> {
  const said = `${operation.id} ${response.status}`
  const documented = at(document, 'paths', operation.path, operation.method, 'responses', String(response.status))
  expect(documented, said).to.be.an('object')
  for (const name of Object.keys(at(documented, 'headers') as JsonObject)) {
    // Faro's own header comes for those who name a Faro session, a position where something was stored.
    if (['X-Faro-Session-Status', 'Throughline-Position'].includes(name)) continue
    expect(response.headers.get(name), `${said}: ${name}`).to.be.a('string')
  }
  const sent = response.headers.get('content-type') ?? ''
  const type = sent.replace(/^(application\/problem\+json); charset=utf-8$/, '$1')
  const media = (at(documented, 'content') as JsonObject)[type]
  expect(media, `${said}: ${sent}`).to.be.an('object')
  if (!type.includes('json') || type.includes('ndjson')) return
  const body = parseJson(await response.text())
  const checked = checkOf(at(media, 'schema')).safeParse(body)
  expect(checked.error?.issues, `${said}: ${stringifyJson(body)}`).to.equal(undefined)
  const isSuccess = response.status === operation.success.status
  const own = (isSuccess ? operation.success.body : operation.refusal)[type]
  // The schema drops what it does not know: nothing undocumented is answered.
  if (own instanceof z.ZodType) expect(own.parse(body), said).to.deep.equal(body)
  const code = isSuccess ? undefined : codeOf(body)
  if (code !== undefined) expect(operation.refusals, said).to.include(code)
}

/** Our stable code: of a problem document, or of the ErrorInfo of a google.rpc.Status. */
function codeOf(body: Json): string | undefined {
  const [info] = listOf(body as JsonObject, 'details')
  const code = at(body, 'code')
  if (typeof code === 'string') return code
  return info === undefined ? undefined : String(info['reason']).toLowerCase()
}

/** Not by fetch, which says of itself that it is a script. */
function openAsBrowser(url: string, headers: Readonly<Record<string, string>>): Promise<Response> {
  return new Promise((resolve, reject) => {
    const asked = request(url, { headers: { accept: 'text/html', ...headers } }, (answer) => {
      const sent = Object.entries(answer.headers).map(([name, value]): [string, string] => [name, String(value)])
      resolve(new Response(null, { status: answer.statusCode ?? 0, headers: sent }))
      answer.resume()
    })
    asked.on('error', reject).end()
  })
}

describe('real answers and the OpenAPI document', () => {
  let server: LentServer
  let session: Reader
  let limited: Reader
  let limitedTenant: Tenant
  const checkedIds = new Set<string>()
  const of = (id: string): Operation => {
    const operation = operations.find((one) => one.id === id)
    if (operation === undefined) throw new Error(id)
    return operation
  }
  const checks = async (id: string, status: number, answer: Promise<Response>): Promise<void> => {
    const response = await answer
    expect(response.status, `${id}: ${response.url}`).to.equal(status)
    await check(of(id), response)
    checkedIds.add(id)
  }
  const post = (path: string, init: Omit<RequestInit, 'method'>): Promise<Response> =>
    untilServed(() => fetch(server.baseUrl + path, { method: 'POST', ...init }))

  before(async () => {
    server = await borrowServer()
    session = await signIn(server.baseUrl, server.firstRun.sign_in)
    limitedTenant = await createTenant(server, 'limited', 'tracing-only')
    limited = await signIn(server.baseUrl, limitedTenant.sign_in)
    const send = sendingTo(server, server.firstRun.keys)
    const span = { traceId, service: 'web', attributes: { 'session.id': 's', big: 9007199254740993n } }
    await send.spans([
      {
        ...span,
        spanId: hex(16, 1),
        status: 'error',
        events: [{ name: 'exception', attributes: { deep: { a: [1, null, 'x'] } } }],
        links: [{ traceId: hex(32, 'other'), spanId: hex(16, 'other') }],
      },
      { ...span, spanId: hex(16, 2), parentSpanId: hex(16, 'missing') },
      { ...span, traceId: hex(32, 'far'), spanId: hex(16, 3), startNs: farNs },
    ])
    await send.logs([
      {
        message: 'documented',
        trace_id: traceId,
        level: 'warn',
        nested: { a: [true, 1.5, null] },
        big: 9007199254740993n,
      },
      { message: 'documented too', session_id: 's' },
      { message: 'documented of a clock that is wrong by years', timestamp: formatTimeNs(farNs) },
    ])
    await send.rum({
      meta: { app: { name: 'shop' }, session: { id: 's' }, page: { url: 'https://shop.example/' } },
      events: [{ name: 'click', timestamp: new Date().toISOString() }],
      measurements: [{ type: 'web-vitals', values: { lcp: 12.5 }, timestamp: new Date().toISOString() }],
    })
    await untilIndexed(server)
  })
  after(async () => {
    await server.giveBack()
  })

  it('agree on searches for traces', async () => {
    const path = '/api/app/traces/search'
    for (const query of [
      '',
      'limit=1&include=histogram,facets',
      'q=session.id:s',
      'service=web&include=histogram&include=facets',
      'service=x',
    ]) {
      await checks('searchTraces', 200, session.raw(`${path}?${query}`))
    }
    for (const query of ['x=1', 'limit=0', 'q=(', 'cursor=x', 'from=2h&to=3h']) {
      await checks('searchTraces', 400, session.raw(`${path}?${query}`))
    }
    await checks('searchTraces', 401, fetch(server.baseUrl + path))
    await checks('searchTraces', 405, session.raw(path, { method: 'DELETE' }))
  })

  it('agree on correlations', async () => {
    const path = '/api/app/correlation'
    for (const query of [`trace_id=${traceId}`, 'session_id=s', `span_id=${hex(16, 'missing')}`, `id=${traceId}`]) {
      await checks('correlate', 200, session.raw(`${path}?${query}`))
    }
    for (const query of ['', 'x=1', 'trace_id=x', `trace_id=${traceId}&cursor=x`]) {
      await checks('correlate', 400, session.raw(`${path}?${query}`))
    }
    const never = `${path}?session_id=never`
    // Nothing is unknown to an index that a busy machine has not let say that it is complete.
    let unknown = await session.raw(never)
    while (unknown.status === 200) unknown = await session.raw(never)
    await checks('correlate', 404, Promise.resolve(unknown))
    await checks('correlate', 401, fetch(server.baseUrl + path))
    await checks('correlate', 405, session.raw(path, { method: 'POST' }))
    const send = sendingTo(server, limitedTenant.keys)
    await send.spans([{ traceId, spanId: hex(16, 1) }])
    await untilIndexed(server)
    await checks('correlate', 200, limited.raw(`${path}?trace_id=${traceId}`))
  })

  it('agree on searches for logs', async () => {
    const path = '/api/app/logs/search'
    const [log] = listOf(await answerOf(session, path), 'logs')
    for (const query of [
      '',
      'limit=1&include=histogram,facets,count',
      'q=documented',
      'q=--- a',
      'fields=big',
      `around=${encodeURIComponent(String(log?.['id']))}`,
    ]) {
      await checks('searchLogs', 200, session.raw(`${path}?${query}`))
    }
    for (const query of ['x=1', 'limit=1001', 'q=a | b', 'cursor=x.y']) {
      await checks('searchLogs', 400, session.raw(`${path}?${query}`))
    }
    const { next_cursor: cursor } = await answerOf(session, `${path}?limit=1`)
    await checks('searchLogs', 400, session.raw(`${path}?q=other&cursor=${String(cursor)}`))
    await checks('searchLogs', 404, session.raw(`${path}?around=never`))
    await checks('searchLogs', 401, fetch(server.baseUrl + path))
    await checks('searchLogs', 403, limited.raw(path))
    await checks('searchLogs', 405, session.raw(path, { method: 'PUT' }))
  })

  it('agree on exports', async () => {
    const path = '/app/logs/export'
    for (const query of ['', 'format=csv', 'q=nothing'])
      await checks('exportLogs', 200, session.raw(`${path}?${query}`))
    for (const query of ['format=xml', 'q=(', 'limit=1'])
      await checks('exportLogs', 400, session.raw(`${path}?${query}`))
    await checks('exportLogs', 401, fetch(server.baseUrl + path))
    await checks('exportLogs', 403, limited.raw(path))
    await checks('exportLogs', 405, session.raw(path, { method: 'POST' }))
    const named = (await session.raw(`${path}?q=nothing`)).headers.get('content-disposition') ?? ''
    const [, own = ''] = /"logs_(\w+)_/.exec(named) ?? []
    await checks('exportLogs', 200, session.raw(`${path}?shown_in=${own}`))
    const other = `${path}?shown_in=w0000000000000000`
    await checks('exportLogs', 403, session.raw(other))
    const cookie = await cookieOf(server.baseUrl, server.firstRun.sign_in)
    await checks('exportLogs', 409, openAsBrowser(server.baseUrl + other, { cookie }))
    await checks('exportLogs', 303, openAsBrowser(server.baseUrl + path, {}))
    const lines = (await (await session.raw(path)).text()).split('\n').filter(Boolean)
    const record = checkOf({ $ref: '#/components/schemas/LogRecord' })
    expect(lines).not.to.be.empty
    for (const line of lines) expect(record.safeParse(parseJson(line)).error?.issues).to.equal(undefined)
  })

  it('agree on the listing', async () => {
    const path = '/api/v1/traces'
    const { keys } = server.firstRun
    const api = withKey(server.baseUrl, keys.api)
    for (const query of ['', 'limit=1', 'service=x']) await checks('listTraces', 200, api.raw(`${path}?${query}`))
    for (const query of ['limit=101', 'q=(', 'include=facets'])
      await checks('listTraces', 400, api.raw(`${path}?${query}`))
    await checks('listTraces', 401, fetch(server.baseUrl + path))
    await checks('listTraces', 401, withKey(server.baseUrl, 'wk_x').raw(path))
    await checks('listTraces', 403, withKey(server.baseUrl, keys.tracing).raw(path))
    await checks('listTraces', 403, api.raw(path, { headers: { origin: 'https://shop.example' } }))
    await checks('listTraces', 403, withKey(server.baseUrl, limitedTenant.keys.api).raw(path))
    await checks('listTraces', 405, api.raw(path, { method: 'POST' }))
  })

  it('agree on logs that come in', async () => {
    const path = '/api/logs/v1/ingest'
    const { keys } = server.firstRun
    const headers = { authorization: `Bearer ${keys.logs}`, 'content-type': 'application/json' }
    await checks('ingestLogs', 200, post(path, { headers, body: '[{"message":"a"},7]' }))
    await checks('ingestLogs', 200, post(path, { headers, body: '[]' }))
    await checks('ingestLogs', 400, post(path, { headers, body: '[1,2]' }))
    await checks('ingestLogs', 400, post(path, { headers, body: '{"a' }))
    await checks('ingestLogs', 401, post(path, { body: '{}' }))
    await checks('ingestLogs', 403, post(path, { headers: { ...headers, origin: 'https://shop.example' }, body: '{}' }))
    await checks('ingestLogs', 403, post(path, { headers: { authorization: `Bearer ${keys.tracing}` }, body: '{}' }))
    await checks(
      'ingestLogs',
      403,
      post(path, { headers: { authorization: `Bearer ${limitedTenant.keys.logs}` }, body: '{}' }),
    )
    await checks('ingestLogs', 415, post(path, { headers: { ...headers, 'content-type': 'image/png' }, body: 'x' }))
    await checks('ingestLogs', 415, post(path, { headers: { ...headers, 'content-encoding': 'lzma' }, body: 'x' }))
    const bomb = gzipSync(Buffer.alloc(limits.decodedBytesMax + 1, ' '))
    await checks('ingestLogs', 413, post(path, { headers: { ...headers, 'content-encoding': 'gzip' }, body: bomb }))
    await checks('ingestLogs', 405, fetch(server.baseUrl + path))
  })

  it('agree on browser events that come in', async () => {
    const path = '/api/rum/v1/ingest'
    const { keys } = server.firstRun
    const headers = { authorization: `Bearer ${keys.publishable}`, 'content-type': 'application/json' }
    const body = JSON.stringify({ session_id: 's', events: [{ type: 'view', timestamp: new Date().toISOString() }, 7] })
    await checks('ingestRum', 202, post(path, { headers, body }))
    await checks(
      'ingestRum',
      202,
      post(`${path}?key=${keys.publishable}`, { headers: { 'content-type': 'text/plain' }, body }),
    )
    await checks('ingestRum', 400, post(path, { headers, body: '{"a":1}' }))
    await checks('ingestRum', 401, post(path, { body }))
    await checks('ingestRum', 403, post(path, { headers: { authorization: `Bearer ${keys.logs}` }, body }))
    await checks('ingestRum', 415, post(path, { headers: { ...headers, 'content-type': 'image/png' }, body }))
    await checks('ingestRum', 405, fetch(server.baseUrl + path))
  })

  it('agree on spans that come in', async () => {
    const path = '/api/traces/v1/otlp'
    const { keys } = server.firstRun
    const headers = { authorization: `Bearer ${keys.tracing}`, 'content-type': 'application/json' }
    const span = { traceId: hex(32, 'in'), spanId: hex(16, 'in') }
    await checks('ingestTraces', 200, post(path, { headers, body: otlpJson([span]) }))
    await checks('ingestTraces', 200, post(path, { headers, body: otlpJson([span, { ...span, spanId: 'x' }]) }))
    await checks('ingestTraces', 400, post(path, { headers, body: '{"a' }))
    await checks('ingestTraces', 401, post(path, { headers: { 'content-type': 'application/json' }, body: '{}' }))
    await checks(
      'ingestTraces',
      403,
      post(path, { headers: { ...headers, authorization: `Bearer ${keys.logs}` }, body: '{}' }),
    )
    await checks(
      'ingestTraces',
      403,
      post(path, { headers: { ...headers, origin: 'https://shop.example' }, body: '{}' }),
    )
    await checks(
      'ingestTraces',
      415,
      post(path, { headers: { ...headers, 'content-type': 'application/grpc' }, body: 'x' }),
    )
    await checks('ingestTraces', 405, fetch(server.baseUrl + path))
    const protobuf = { ...headers, 'content-type': 'application/x-protobuf' }
    await checks('ingestTraces', 200, post(path, { headers: protobuf, body: new Uint8Array() }))
    await checks('ingestTraces', 400, post(path, { headers: protobuf, body: new Uint8Array([255, 255, 255]) }))
  })

  it('were compared for every endpoint', () => {
    expect(checkedIds).to.deep.equal(new Set(operations.map(({ id }) => id)))
  })
})
