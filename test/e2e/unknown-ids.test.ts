import { isDeepStrictEqual } from 'node:util'
import { expect } from 'chai'
import { getComplete, listOf, signIn, untilIndexed, type Reader } from '../support/client.ts'
import { cli } from '../support/cli.ts'
import { borrowServer, type LentServer } from '../support/lent-server.ts'
import { hex } from '../support/telemetry.ts'
import { createTenant, type Tenant } from '../support/tenant.ts'
import { sendingTo } from '../support/workspace.ts'

type Answer = Readonly<{ status: number; headers: Readonly<Record<string, string>>; body: string }>

/** Of the moment, and not of the id. */
const ofMoment: ReadonlySet<string> = new Set([
  'date',
  'x-request-id',
  'content-length',
  'connection',
  'keep-alive',
  'transfer-encoding',
])

describe('an id of another workspace', () => {
  let server: LentServer
  let other: Tenant
  let mine: Reader
  /** By kind: an id that is theirs, and one of the same form that nobody has. */
  let ids: Readonly<Record<string, readonly [theirs: string, absent: string]>>

  before(async () => {
    server = await borrowServer()
    other = await createTenant(server, `o${hex(12, server.firstRun.workspace)}`, 'pro')
    mine = await signIn(server.baseUrl, server.firstRun.sign_in)
    const [traceId, spanId, sessionId] = [hex(32, 'theirs'), hex(16, 'theirs'), 'session-theirs']
    const to = sendingTo(server, other.keys)
    await to.spans([{ traceId, spanId, attributes: { 'session.id': sessionId } }])
    await to.logs([{ message: 'theirs', trace_id: traceId, session_id: sessionId }])
    await to.rum({ session_id: sessionId, events: [{ type: 'click', name: 'theirs', trace_id: traceId }] })
    await untilIndexed(server)
    const theirs = await signIn(server.baseUrl, other.sign_in)
    const [log] = listOf((await getComplete(theirs, '/api/app/logs/search')).body, 'logs')
    const logId = String(log?.['id'])
    const key = (await cli(server, 'key', 'create', '--workspace', other.workspace, '--kind', 'logs')) as { id: string }
    ids = {
      trace: [traceId, hex(32, 'absent')],
      span: [spanId, hex(16, 'absent')],
      session: [sessionId, 'session-absent'],
      log: [logId, logId.replace(/[0-9a-f]{32}/, hex(32, 'absent'))],
      key: [key.id, `${key.id.slice(0, 1)}${hex(key.id.length - 1, 'absent')}`],
    }
  })
  after(() => server.giveBack())

  /** What it is answered with: the id that was asked for, the request's own id and its cursors left out. */
  async function answerTo(id: string, ask: (id: string) => Promise<Response>): Promise<Answer> {
    for (;;) {
      const response = await ask(id)
      const text = await response.text()
      // A projector that a busy machine has held up is not known to have followed.
      if (/"complete":false|The index is behind/.test(text)) continue
      const body = text
        .replaceAll(id, 'ID')
        .replaceAll(/"request_id":"[^"]*"/g, '')
        .replaceAll(/"(?:position|head|lag_ms)":"?\d+"?/g, '')
        .replaceAll(/\d{4}-\d\d-\d\d[T ][\d:.]+Z?/g, 'TIME')
        .replaceAll(/"(?:next|prev)_cursor":"[^"]*"/g, 'CURSOR')
      // The page that finds reads a line with a trace id in what nobody knows, and leads there.
      const headers = [...response.headers]
        .filter(([name]) => !ofMoment.has(name))
        .map(([name, value]) => [name, value.replaceAll(/[0-9a-f]{32}/g, 'ID')] as const)
      return { status: response.status, headers: Object.fromEntries(headers), body }
    }
  }

  const get =
    (address: string, accept = 'application/json') =>
    (id: string): Promise<Response> =>
      mine.raw(address.replaceAll('ID', encodeURIComponent(id)), { headers: { accept }, redirect: 'manual' })
  const page = (address: string) => get(address, 'text/html')
  const form = (address: string, fields: Readonly<Record<string, string>>) => (id: string) =>
    mine.raw(address, {
      method: 'POST',
      redirect: 'manual',
      headers: { origin: server.baseUrl },
      body: new URLSearchParams(
        Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, value.replace('ID', id)])),
      ),
    })

  const asks: Readonly<Record<string, Readonly<Record<string, (id: string) => Promise<Response>>>>> = {
    trace: {
      'a search for traces': get('/api/app/traces/search?trace_id=ID'),
      'a search for logs': get('/api/app/logs/search?trace_id=ID'),
      'an export': get('/app/logs/export?trace_id=ID'),
      'what correlates': get('/api/app/correlation?trace_id=ID'),
      'what correlates, by a traceparent': get(`/api/app/correlation?traceparent=00-ID-${hex(16, 'any')}-01`),
      'what correlates, by any id': get('/api/app/correlation?id=ID'),
      'the page of the trace': page('/app/trace/ID'),
      'the page that compares': page('/app/compare?trace_id=ID'),
      'the page that finds': page('/app/find?id=ID'),
    },
    span: {
      'what correlates': get('/api/app/correlation?span_id=ID'),
      'what correlates, by any id': get('/api/app/correlation?id=ID'),
      'the page that finds': page('/app/find?id=ID'),
    },
    session: {
      'a search for traces': get('/api/app/traces/search?session_id=ID'),
      'a search for logs': get('/api/app/logs/search?session_id=ID'),
      'what correlates': get('/api/app/correlation?session_id=ID'),
      'the page that finds': page('/app/find?id=ID'),
    },
    log: {
      'a search around it': get('/api/app/logs/search?around=ID'),
      'what correlates': get('/api/app/correlation?log_id=ID'),
      'the page around it': page('/app/logs?around=ID'),
      'the page that finds': page('/app/find?id=ID'),
    },
    key: {
      'the page that waits for it': page('/app/connect/ID'),
      'what has arrived by it': get('/app/connect/ID/arrival'),
      'a revocation': form('/app/keys', { action: 'revoke', key: 'ID' }),
      'a rotation': form('/app/keys', { action: 'rotate', key: 'ID', hours: '1' }),
    },
  }

  for (const [kind, all] of Object.entries(asks)) {
    it(`is answered as one that nobody has: of a ${kind}`, async () => {
      const [theirs = '', absent = ''] = ids[kind] ?? []
      expect(theirs).to.have.lengthOf(absent.length).and.not.equal(absent)
      for (const [what, ask] of Object.entries(all)) {
        let [foreign, unknown] = [await answerTo(theirs, ask), await answerTo(absent, ask)]
        // Pages leave out figures that a busy machine does not count in time. What differs for its id differs each time.
        for (let more = 0; more < 5 && !isDeepStrictEqual(foreign, unknown); more++)
          [foreign, unknown] = [await answerTo(theirs, ask), await answerTo(absent, ask)]
        expect(foreign, `${kind}: ${what}`).to.deep.equal(unknown)
      }
    })
  }
})
