import { gunzipSync } from 'node:zlib'
import { get, type IncomingMessage } from 'node:http'
import { once } from 'node:events'
import { expect } from 'chai'
import { parseJson, type Json, type JsonObject } from '#src/lib/json.ts'
import { formatTimeNs } from '#src/lib/time.ts'
import { answerOf, cookieOf, listOf, signIn, untilIndexed, type Reader } from '../support/client.ts'
import { openInstallation } from '../support/installation.ts'
import { removeFolder, startServer, type Server } from '../support/server.ts'
import { hex } from '../support/telemetry.ts'
import { minutesAgoNs, secondNs, sendingTo, type Sending } from '../support/workspace.ts'

const t0 = minutesAgoNs(30)
const timeAt = (seconds: number): string => formatTimeNs(t0 + BigInt(seconds) * secondNs)
const traceId = hex(32, 'exported')

const records: readonly Readonly<Record<string, Json>>[] = [
  {
    timestamp: timeAt(1),
    level: 'info',
    service: 'api',
    message: 'one',
    user: { id: 7, roles: [{ of: 'x' }, {}, { of: 'y' }] },
    tags: ['a', 'b'],
  },
  { timestamp: timeAt(2), level: 'warn', service: 'api', message: 'two', trace_id: traceId, big: 9007199254740993n },
  { timestamp: timeAt(3), level: 'error', service: 'worker', message: 'three', session_id: 's-1', ok: true },
  { timestamp: timeAt(4), message: 'four "quoted", with a\nline, and ünicode 支付' },
]

/** RFC 4180, as a reader that knows nothing else: records of cells. */
function parseCsv(text: string): string[][] {
  const rows: string[][] = []
  let rest = text
  let row: string[] = []
  while (rest !== '') {
    const cell = /^"((?:[^"]|"")*)"(,|\r\n)/.exec(rest)
    expect(cell, JSON.stringify(rest.slice(0, 80))).not.to.equal(null)
    row.push((cell?.[1] ?? '').replaceAll('""', '"'))
    if (cell?.[2] !== ',') {
      rows.push(row)
      row = []
    }
    rest = rest.slice(cell?.[0].length)
  }
  return rows
}

/** Texts that a spreadsheet could take for a formula, however they are dressed (OWASP, Kibana #91994, GHSA-g27c-q7cp-mhx6). */
const formulas = [
  '=1+1',
  '+1+1',
  '-1+1',
  '@SUM(A1)',
  '\t=1+1',
  '\r=1+1',
  '\n=1+1',
  ' =1+1',
  '   =HYPERLINK("http://evil","x")',
  '"=1+1',
  "'=1+1",
  '＝1+1',
  '＋1+1',
  '－1+1',
  '＠SUM(A1)',
  '\u00a0=1',
  '\ufeff=1',
  '\u200b=1',
  '\u200f\u202e=1',
  '\ufe661+1',
  '\u22121+1',
  '\u2028=1',
  '\ttab alone',
  '|cmd',
  '%0A=1',
  "=cmd|' /C calc'!A0",
]

describe('GET /app/logs/export', () => {
  let server: Server
  let reader: Reader
  let send: Sending
  /** The whole answer, as sent. */
  const exported = async (query: string) => {
    const response = await reader.raw(`/app/logs/export?${query}`, { headers: { 'accept-encoding': 'identity' } })
    return { status: response.status, headers: response.headers, text: await response.text() }
  }
  const lines = async (query: string): Promise<readonly JsonObject[]> => {
    const { status, text } = await exported(query)
    expect(status, text.slice(0, 500)).to.equal(200)
    return text
      .split('\n')
      .filter(Boolean)
      .map((line) => parseJson(line) as JsonObject)
  }
  const messages = async (query: string): Promise<unknown[]> => (await lines(query)).map(({ message }) => message)

  before(async () => {
    server = await startServer()
    reader = await signIn(server.baseUrl, server.firstRun.sign_in)
    send = sendingTo(server, server.firstRun.keys)
    await send.logs(records)
    await send.logs([{ timestamp: formatTimeNs(minutesAgoNs(3 * 24 * 60)), message: 'old', session_id: 's-old' }])
    await untilIndexed(server)
  })
  after(async () => {
    await server.stop()
    await removeFolder(server.dataFolder)
  })

  it('writes a line for each record, as log search shows them', async () => {
    const found = listOf(await answerOf(reader, '/api/app/logs/search?limit=1000'), 'logs')
    const expected = found.map(({ highlights: _highlights, ...item }) => item)
    expect(await lines('')).to.deep.equal(expected)
    expect(await lines('order=asc')).to.deep.equal([...expected].reverse())
  })

  it('says what it is, and how much', async () => {
    const { headers } = await exported('q=one%20OR%20two')
    expect(headers.get('content-type')).to.equal('application/x-ndjson; charset=utf-8')
    expect(headers.get('content-disposition')).to.match(/^attachment; filename="logs_[a-z0-9-]+_[0-9TZ-]+\.ndjson"$/)
    expect(headers.get('x-export-matched')).to.equal('2')
    expect(headers.get('cache-control')).to.equal('no-store')
    expect(headers.get('vary')).to.include('Accept-Encoding')
    expect(decodeURIComponent(headers.get('x-query-normalized') ?? '')).to.equal('one OR two')
    expect(headers.get('content-length')).to.equal(null)
    const csv = await exported('format=csv')
    expect(csv.headers.get('content-type')).to.equal('text/csv; charset=utf-8')
    expect(csv.headers.get('content-disposition')).to.match(/\.csv"$/)
  })

  const filters: readonly (readonly [query: string, messages: readonly string[]])[] = [
    ['q=service:api', ['two', 'one']],
    ['level=error,warn', ['three', 'two']],
    ['level=error&level=info', ['three', 'one']],
    ['service=worker', ['three']],
    [`trace_id=${traceId.toUpperCase()}`, ['two']],
    ['session_id=s-1', ['three']],
    ['session_id=s-old', ['old']],
    [`from=${timeAt(2)}&to=${timeAt(4)}`, ['three', 'two']],
    [`from=${timeAt(2)}&to=${timeAt(4)}&order=asc`, ['two', 'three']],
    ['q=nothing', []],
  ]
  for (const [query, expected] of filters) {
    it(`${query} → ${expected.join(' ') || 'nothing'}`, async () => {
      expect(await messages(query)).to.deep.equal(expected)
      expect((await exported(query)).headers.get('x-export-matched')).to.equal(String(expected.length))
    })
  }

  it('keeps 64-bit integers to the digit, in lines and in cells', async () => {
    expect((await exported('q=two')).text).to.include('"big":9007199254740993')
    const [, row] = parseCsv((await exported('q=two&format=csv&fields=big')).text)
    expect(row?.at(-1)).to.equal('9007199254740993')
  })

  it('writes CSV in columns that stay the same, whatever the records hold', async () => {
    const columns = ['id', 'timestamp', 'level', 'message', 'service', 'trace_id', 'span_id', 'session_id']
    const all = parseCsv((await exported('format=csv&order=asc')).text)
    expect(all[0]).to.deep.equal([...columns, 'fields'])
    expect(all.map(({ length }) => length)).to.deep.equal([9, 9, 9, 9, 9])
    const cells = (row: readonly string[] | undefined): string[] => row?.slice(1, 8) ?? []
    expect(cells(all[2])).to.deep.equal([timeAt(2), 'warn', 'two', 'api', traceId, '', ''])
    expect(cells(all[4])).to.deep.equal([timeAt(4), '', String(records[3]?.['message']), '', '', '', ''])
    expect(parseJson(all[3]?.[8] ?? '')).to.deep.equal(records[2])
    const named = parseCsv((await exported('format=csv&order=asc&fields=user.id,tags&fields=ok')).text)
    expect(named[0]).to.deep.equal([...columns, 'user.id', 'tags', 'ok'])
    expect(named.slice(1).map((row) => row.slice(8))).to.deep.equal([
      ['7', '["a","b"]', ''],
      ['', '', ''],
      ['', '', 'true'],
      ['', '', ''],
    ])
    expect(parseCsv((await exported('format=csv&q=nothing')).text)).to.deep.equal([[...columns, 'fields']])
    // Readers go by the names of columns: the message of a record that calls it msg would be hidden by a second, empty one.
    const twice = parseCsv((await exported('format=csv&order=asc&fields=message,ok,ok,id')).text)
    expect(twice[0]).to.deep.equal([...columns, 'ok'])
    expect(twice.map((row) => row[8])).to.deep.equal(['ok', '', '', 'true', ''])
  })

  it('has a column for a field with a comma in its name, which stands in quotes', async () => {
    const fields = encodeURIComponent('ok,"a,b"')
    const [head] = parseCsv((await exported(`format=csv&fields=${fields}`)).text)
    expect(head?.slice(-2)).to.deep.equal(['ok', 'a,b'])
  })

  it('answers only the fields that are asked for', async () => {
    const [line] = await lines('q=one&fields=user.id')
    expect(line?.['fields']).to.deep.equal({ 'user.id': 7 })
    const [ofList] = await lines('q=one&fields=user.roles.of')
    expect(ofList?.['fields']).to.deep.equal({ 'user.roles.of': ['x', 'y'] })
  })

  it('defuses in CSV what a spreadsheet would take for a formula, and leaves lines as they are', async () => {
    await send.logs(
      formulas.map((text, n) => ({ timestamp: timeAt(100 + n), message: text, service: 'formulas', evil: text })),
    )
    await untilIndexed(server)
    const query = 'service=formulas&order=asc&fields=evil,=cmd'
    const [header, ...rows] = parseCsv((await exported(`${query}&format=csv`)).text)
    expect(header?.slice(-2)).to.deep.equal(['evil', "'=cmd"])
    expect(rows).to.have.length(formulas.length)
    for (const [n, row] of rows.entries()) {
      for (const cell of [row[3], row[8]]) expect(cell, JSON.stringify(formulas[n])).to.equal(`'${formulas[n]}`)
    }
    expect((await lines(query)).map(({ message }) => message)).to.deep.equal(formulas)
  })

  it('leaves numbers in CSV numbers', async () => {
    await send.logs([{ message: 'numbers', a: -5, b: -1.25, c: 0, d: '-7', e: '+7', f: -1.5e-7, g: -2e21 }])
    await untilIndexed(server)
    const [, row] = parseCsv((await exported('q=numbers&format=csv&fields=a,b,c,d,e,f,g')).text)
    expect(row?.slice(8)).to.deep.equal(['-5', '-1.25', '0', '-7', "'+7", '-1.5e-7', '-2e+21'])
  })

  it('packs with gzip for those who take it, and says nothing else', async () => {
    const plain = await exported('format=csv&service=api')
    for (const [accept, coding] of [
      ['gzip', 'gzip'],
      ['gzip, deflate, br', 'gzip'],
      ['*', 'gzip'],
      ['identity', null],
      ['gzip;q=0', null],
      ['br', null],
      ['identity;q=1, gzip;q=0.5', null],
    ] as const) {
      const response = await rawGet('/app/logs/export?format=csv&service=api', { 'accept-encoding': accept })
      expect(response.headers['content-encoding'] ?? null, accept).to.equal(coding)
      const body = await bytesOf(response)
      expect((coding === null ? body : gunzipSync(body)).toString(), accept).to.equal(plain.text)
    }
  })

  /** A request whose answer is not unpacked. */
  async function rawGet(path: string, headers: Readonly<Record<string, string>>): Promise<IncomingMessage> {
    const cookie = await cookieOf(server.baseUrl, server.firstRun.sign_in)
    for (;;) {
      const request = get(server.baseUrl + path, { headers: { cookie, ...headers } })
      const [response] = (await once(request, 'response')) as [IncomingMessage]
      // A process that cannot tell yet who signed in at another one says to come back.
      if (response.statusCode !== 503) return response
      response.resume()
    }
  }

  it('is one snapshot: what arrives while it is read is not in it', async () => {
    const text = 'x'.repeat(60_000)
    const big = (n: number) => ({
      timestamp: timeAt(200 + (n % 7)),
      message: `snapshot ${n}`,
      service: 'snapshot',
      text,
    })
    for (let n = 0; n < 400; n += 100) await send.logs(Array.from({ length: 100 }, (_, i) => big(n + i)))
    await untilIndexed(server)
    // 24 MB are more than sockets hold: the server waits for the reader in the middle of the export.
    const response = await rawGet('/app/logs/export?service=snapshot&order=asc', {})
    await once(response, 'readable')
    await send.logs(Array.from({ length: 100 }, (_, n) => ({ ...big(1_000 + n), message: `late ${n}` })))
    await untilIndexed(server)
    const found = (await bytesOf(response)).toString().split('\n').filter(Boolean)
    expect(response.headers['x-export-matched']).to.equal('400')
    const names = found.map((line) => String((parseJson(line) as JsonObject)['message']))
    expect(names.filter((name) => name.startsWith('late'))).to.deep.equal([])
    expect(new Set(names).size).to.equal(400)
    expect(names).to.have.length(400)
  })

  it('gives the way free when clients hang up', async () => {
    // More than may be under way at once: each is let in as soon as the server has seen the others go.
    for (let begun = 0; begun < 12;) {
      const response = await rawGet('/app/logs/export?service=snapshot', {})
      if (response.statusCode === 200) begun++
      else expect(response.statusCode).to.equal(429)
      await once(response, 'readable')
      response.destroy()
    }
  })

  it('answers HEAD with the headers alone, and audits no export then', async () => {
    const before = await audits(server)
    const response = await reader.raw('/app/logs/export?service=api&format=csv', { method: 'HEAD' })
    expect(response.status).to.equal(200)
    expect(response.headers.get('x-export-matched')).to.equal('2')
    expect(response.headers.get('content-type')).to.equal('text/csv; charset=utf-8')
    expect(await response.text()).to.equal('')
    expect(await audits(server)).to.have.length(before.length)
  })

  it('leaves an audit entry: who, what, in which form', async () => {
    const before = await audits(server)
    await exported('q=audited&format=csv')
    await exported('q=audited')
    await exported('q=(')
    const fresh = (await audits(server)).slice(before.length)
    expect(fresh.map(({ query, format }) => [query, format])).to.deep.equal([
      ['q=audited&format=csv', 'csv'],
      ['q=audited', 'ndjson'],
    ])
    for (const entry of fresh) expect(entry['userId']).to.be.a('string').that.is.not.empty
  })

  it('exports what a long search in any script finds', async () => {
    const q = Array.from({ length: 60 }, () => '支付失败支付失败支付').join(' OR ')
    const { status, headers } = await exported(`q=${encodeURIComponent(q)}`)
    expect(status).to.equal(200)
    // Too long for a header.
    expect(headers.get('x-query-normalized')).to.equal(null)
  })

  const refusals: readonly (readonly [query: string, code: string, path: string | undefined])[] = [
    ['limit=5', 'unknown_parameter', 'limit'],
    ['cursor=x', 'unknown_parameter', 'cursor'],
    ['include=count', 'unknown_parameter', 'include'],
    ['format=xml', 'invalid_parameter', 'format'],
    ['order=newest', 'invalid_parameter', 'order'],
    ['level=loud', 'invalid_parameter', 'level.0'],
    ['trace_id=x', 'invalid_parameter', 'trace_id'],
    ['from=soon', 'invalid_parameter', 'from'],
    ['q=(', 'query_syntax', undefined],
  ]
  for (const [query, code, path] of refusals) {
    it(`${query} is refused: ${code}`, async () => {
      const { status, headers, text } = await exported(query)
      const body = parseJson(text) as JsonObject
      expect([status, body['code'], listOf(body, 'errors')[0]?.['path']]).to.deep.equal([400, code, path])
      expect(headers.get('content-type')).to.match(/^application\/problem\+json/)
      expect(headers.get('content-disposition')).to.equal(null)
    })
  }

  describe('without a session', () => {
    // Not fetch, which says of itself that it is no navigation.
    const bare = async (headers: Readonly<Record<string, string>>): Promise<IncomingMessage> => {
      const request = get(`${server.baseUrl}/app/logs/export?q=a%20b`, { headers })
      return ((await once(request, 'response')) as [IncomingMessage])[0]
    }

    it('sends a browser’s navigation to sign-in, and back', async () => {
      for (const headers of [{ 'sec-fetch-mode': 'navigate' }, { accept: 'text/html,application/xhtml+xml' }]) {
        const response = await bare(headers)
        response.resume()
        expect(response.statusCode).to.equal(303)
        expect(response.headers.location).to.equal('/app/sign-in?next=%2Fapp%2Flogs%2Fexport%3Fq%3Da%2520b')
        expect(response.headers['cache-control']).to.equal('no-store')
      }
    })

    it('answers anything else with 401, whatever key it brings', async () => {
      const { keys } = server.firstRun
      for (const headers of [
        {},
        { 'sec-fetch-mode': 'cors', accept: 'text/html' },
        { authorization: `Bearer ${keys.logs}` },
        { authorization: `Bearer ${keys.api}` },
        { 'x-api-key': keys.logs },
        { cookie: 'throughline=abc.1' },
      ]) {
        const response = await bare(headers)
        const body = parseJson((await bytesOf(response)).toString()) as JsonObject
        expect([response.statusCode, body['code']]).to.deep.equal([401, 'not_signed_in'])
        expect(response.headers['www-authenticate']).to.be.a('string')
      }
    })
  })

  // Last: it ends the server.
  describe('when the server is told to stop', () => {
    it('finishes the export for who goes on reading', async () => {
      const response = await rawGet('/app/logs/export?service=snapshot', {})
      await once(response, 'readable')
      const stopped = server.stop()
      const found = (await bytesOf(response)).toString().split('\n').filter(Boolean)
      expect(response.complete).to.equal(true)
      expect(String(found.length)).to.equal(response.headers['x-export-matched'])
      await stopped
    })
  })
})

async function bytesOf(response: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

/** The audit entries of exports, as the directory's log holds them. */
async function audits(server: Server): Promise<readonly JsonObject[]> {
  const { directory, close } = await openInstallation(server)
  const found: JsonObject[] = []
  for (let position = 0; ;) {
    const events = await directory.read(position, 100)
    for (const event of events) {
      position = event.position
      if (event.type === 'directory.logs.exported')
        found.push(parseJson(Buffer.from(event.payload).toString()) as JsonObject)
    }
    if (events.length === 0) break
  }
  await close()
  return found
}
