import { expect } from 'chai'
import type { JsonObject } from '#src/lib/json.ts'
import { formatTimeNs } from '#src/lib/time.ts'
import { answerOf, listOf, signIn, untilIndexed, withKey, type Reader } from '../support/client.ts'
import { borrowServer, type LentServer } from '../support/lent-server.ts'
import { hex, type SpanSketch } from '../support/telemetry.ts'
import { walkItems } from '../support/walk.ts'
import { minutesAgoNs, msNs, secondNs, sendingTo, type Sending } from '../support/workspace.ts'

const t0 = minutesAgoNs(20 * 60)

/** A stretch of time that one test has to itself. */
const windows = (function* () {
  for (let fromNs = t0; ; fromNs += 60n * secondNs) yield fromNs
})()

type Walked = Readonly<{ name: string; orders: readonly string[]; conditions: string }>
const walks: readonly Walked[] = [
  { name: 'of all traces', orders: ['newest', 'oldest', 'longest', 'most_spans', 'errors'], conditions: '' },
  {
    name: 'of traces with matching spans',
    orders: ['newest', 'oldest', 'longest', 'most_spans', 'errors'],
    conditions: '&service=paged',
  },
  { name: 'of traces in a session', orders: ['newest', 'longest'], conditions: '&session_id=paging' },
  {
    name: 'of traces in a session with matching spans',
    orders: ['newest', 'errors'],
    conditions: '&session_id=paging&q=paged',
  },
]

describe('paging', () => {
  let server: LentServer
  let reader: Reader
  let send: Sending

  before(async () => {
    server = await borrowServer()
    reader = await signIn(server.baseUrl, server.firstRun.sign_in)
    send = sendingTo(server, server.firstRun.keys)
  })
  after(async () => {
    await server.giveBack()
  })

  /** Traces of a window, the n-th at its n-th second: with their own numbers of spans, errors and durations, some equal. */
  const traceIn = (fromNs: bigint, n: number): readonly SpanSketch[] =>
    Array.from({ length: 1 + (n % 4) }, (_, id) => ({
      traceId: hex(32, String(fromNs), n),
      spanId: hex(16, String(fromNs), n, id),
      ...(id === 0 ? {} : { parentSpanId: hex(16, String(fromNs), n, 0) }),
      service: 'paged',
      startNs: fromNs + BigInt(Math.floor(n / 2)) * secondNs + BigInt(id),
      durationNs: BigInt(1 + ((n * 7) % 5)) * msNs,
      ...(id <= n % 3 ? { status: 'error' as const } : {}),
      attributes: { 'session.id': 'paging' },
    }))

  const idsOf = (traces: readonly JsonObject[]): string[] => traces.map((trace) => String(trace['trace_id']))

  for (const { name, orders, conditions } of walks) {
    for (const order of orders) {
      it(`${name}, ${order}: nothing twice, nothing missed of what was there and stayed`, async () => {
        for (const limit of [1, 2, 3, 5, 12, 13]) {
          const fromNs = windows.next().value
          const there = Array.from({ length: 12 }, (_, n) => traceIn(fromNs, n))
          await send.spans(there.flat())
          await untilIndexed(server)
          const path = `/api/app/traces/search?order=${order}${conditions}&from=${formatTimeNs(fromNs)}&to=${formatTimeNs(fromNs + 60n * secondNs)}`
          const quiet = idsOf(await walkItems(reader, path, { list: 'traces', limit }))
          expect(new Set(quiet)).to.deep.equal(new Set(there.map(([span]) => span?.traceId)))
          expect(quiet).to.have.length(12)

          const grown = new Set<string>()
          const found = await walkItems(reader, path, {
            list: 'traces',
            limit,
            between: async (page) => {
              // A trace that is new, at the front, in the middle or at the end; and one that goes on growing.
              const fresh = traceIn(fromNs, 100 + page).map((span) => ({
                ...span,
                startNs: fromNs + BigInt((page * 5) % 55) * secondNs,
              }))
              const [span] = there[(page * 5) % 12] ?? []
              if (span === undefined) return
              grown.add(span.traceId)
              const more = { ...span, spanId: hex(16, 'more', String(fromNs), limit, page), status: 'error' as const }
              const startNs = fromNs + BigInt((page * 3) % 9) * secondNs
              await send.spans([...fresh, { ...more, startNs, durationNs: 40n * msNs }])
              await untilIndexed(server)
            },
          })
          const ids = idsOf(found)
          expect(ids.length, `limit ${limit}: twice`).to.equal(new Set(ids).size)
          const stayed = quiet.filter((id) => !grown.has(id))
          expect(
            ids.filter((id) => stayed.includes(id)),
            `limit ${limit}`,
          ).to.deep.equal(stayed)
        }
      })
    }
  }

  /** Each of these spans as it comes again with other values: its trace then stands at another end of every order. */
  const cameAgain = (spans: readonly SpanSketch[], fromNs: bigint, page: number): readonly SpanSketch[] =>
    spans.map((span, n) => ({
      ...span,
      // Its last span no longer matches, and the others stand elsewhere.
      ...(n > 0 && n === spans.length - 1 ? { service: 'another', attributes: {} } : {}),
      startNs: fromNs + (page % 2 === 0 ? 0n : 50n) * secondNs + ((span.startNs ?? 0n) % secondNs),
      durationNs: BigInt(page % 2 === 0 ? 900 : 1) * msNs,
      status: page % 2 === 0 ? 'error' : 'ok',
    }))

  for (const { name, orders, conditions } of walks) {
    for (const order of orders) {
      it(`${name}, ${order}: nothing twice where spans come again with other values`, async () => {
        for (const first of [0, 1]) {
          const fromNs = windows.next().value
          const there = Array.from({ length: 12 }, (_, n) => traceIn(fromNs, n))
          const [moving, staying] = [0, 1].map((of) => there.filter((_, n) => Math.floor(n / 2) % 2 === of))
          await send.spans(there.flat())
          await untilIndexed(server)
          const path = `/api/app/traces/search?order=${order}${conditions}&from=${formatTimeNs(fromNs)}&to=${formatTimeNs(fromNs + 60n * secondNs)}`
          const found = await walkItems(reader, path, {
            list: 'traces',
            limit: 3,
            between: async (page) => {
              const again = (moving ?? []).flatMap((spans) => cameAgain(spans, fromNs, page + first))
              // These come again as they are: they stay where they stand.
              await send.spans([...again, ...(staying ?? []).flat()])
              await untilIndexed(server)
            },
          })
          const ids = idsOf(found)
          expect(ids.length, 'twice').to.equal(new Set(ids).size)
          expect(ids, 'missed').to.include.members(staying?.map(([span]) => span?.traceId) ?? [])
        }
      })
    }
  }

  for (const order of ['desc', 'asc'] as const) {
    for (const [name, conditions] of [
      ['all logs', ''],
      ['logs that match', '&q=paged'],
      ['logs of levels', '&level=info,error'],
    ] as const) {
      it(`of ${name}, ${order}: nothing twice, nothing missed, in order`, async () => {
        for (const limit of [1, 2, 3, 7, 20, 21]) {
          const fromNs = windows.next().value
          // Many at one nanosecond: their ids settle the order.
          const records = Array.from({ length: 20 }, (_, n) => ({
            timestamp: formatTimeNs(fromNs + BigInt(Math.floor(n / 5)) * secondNs + 7n),
            level: n % 2 === 0 ? 'info' : 'error',
            message: `paged ${n}`,
          }))
          await send.logs(records)
          await untilIndexed(server)
          const path = `/api/app/logs/search?order=${order}${conditions}&from=${formatTimeNs(fromNs)}&to=${formatTimeNs(fromNs + 60n * secondNs)}`
          const found = await walkItems(reader, path, {
            list: 'logs',
            limit,
            between: async (page) => {
              if (page > 8) return
              const at = (seconds: number): string => formatTimeNs(fromNs + BigInt(seconds) * secondNs + 7n)
              const late = [0, 1, 2, 3, 30].map((s) => ({
                timestamp: at(s),
                level: 'info',
                message: `paged late ${page}`,
              }))
              await send.logs(late)
              await untilIndexed(server)
            },
          })
          const ids = found.map(({ id }) => String(id))
          expect(ids.length, `limit ${limit}: twice`).to.equal(new Set(ids).size)
          const sorted = [...ids].sort()
          expect(ids).to.deep.equal(order === 'asc' ? sorted : sorted.reverse())
          const messages = found.map(({ message }) => String(message)).filter((message) => !message.includes('late'))
          expect(new Set(messages)).to.deep.equal(new Set(records.map(({ message }) => message)))
        }
      })
    }
  }

  it('of the public listing says whether there is more', async () => {
    const fromNs = windows.next().value
    await send.spans(Array.from({ length: 5 }, (_, n) => traceIn(fromNs, n)).flat())
    await untilIndexed(server)
    const api = withKey(server.baseUrl, server.firstRun.keys.api)
    const path = `/api/v1/traces?limit=2&from=${formatTimeNs(fromNs)}&to=${formatTimeNs(fromNs + 60n * secondNs)}`
    const seen: string[] = []
    const more: unknown[] = []
    for (let cursor = ''; ;) {
      const page = await answerOf(api, `${path}&cursor=${cursor}`)
      seen.push(...idsOf(listOf(page, 'data')))
      more.push(page['has_more'])
      if (page['next_cursor'] === null) break
      cursor = String(page['next_cursor'])
    }
    expect(more).to.deep.equal([true, true, false])
    expect(new Set(seen).size).to.equal(5)
  })

  it('of the spans of a session goes on in the trace that it began with', async () => {
    const fromNs = windows.next().value
    const inSession = (trace: string, count: number): readonly SpanSketch[] =>
      Array.from({ length: count }, (_, n) => ({
        traceId: hex(32, trace),
        spanId: hex(16, trace, n),
        startNs: fromNs + BigInt(n) * msNs,
        attributes: { 'session.id': 'spans of a session' },
      }))
    const spans = inSession('begun', 1_100)
    await send.spans(spans)
    await untilIndexed(server)
    const path = '/api/app/correlation?session_id=spans+of+a+session'
    const traceOf = async (cursor: string) => (await answerOf(reader, path + cursor))['trace'] as JsonObject
    const first = await traceOf('')
    await send.spans(inSession('newer', 1_100).map((span) => ({ ...span, startNs: fromNs + 30n * secondNs })))
    await untilIndexed(server)
    const second = await traceOf(`&cursor=${String(first['next_cursor'])}`)
    expect((second['summary'] as JsonObject)['trace_id']).to.equal(hex(32, 'begun'))
    const seen = [first, second].flatMap((trace) => listOf(trace, 'spans').map(({ span_id: id }) => id))
    expect(seen).to.deep.equal(spans.map(({ spanId }) => spanId))
    expect(second['next_cursor']).to.equal(null)
    expect(((await traceOf(''))['summary'] as JsonObject)['trace_id']).to.equal(hex(32, 'newer'))
  })

  describe('cursors', () => {
    const path = '/api/app/logs/search?q=cursor&from=2h'
    let cursor = ''
    const refusedAs = async (address: string): Promise<unknown[]> => {
      const { status, body } = await reader.get(address)
      return [status, body['code']]
    }
    before(async () => {
      const timestamp = formatTimeNs(minutesAgoNs(60))
      await send.logs([1, 2, 3].map((n) => ({ timestamp, message: `cursor ${n}`, trace_id: hex(32, 'c') })))
      await untilIndexed(server)
      cursor = String((await answerOf(reader, `${path}&limit=1`))['next_cursor'])
    })

    it('keep the range that the first page resolved', async () => {
      const first = await answerOf(reader, `${path}&limit=1`)
      const second = await answerOf(reader, `${path}&limit=1&cursor=${String(first['next_cursor'])}`)
      expect(second['range']).to.deep.equal(first['range'])
      const third = await answerOf(reader, `${path}&limit=1&cursor=${String(second['next_cursor'])}`)
      expect(third['range']).to.deep.equal(first['range'])
    })

    it('go on with another limit, other things included, and parameters in another order', async () => {
      for (const same of [
        `${path}&limit=2&include=count`,
        '/api/app/logs/search?from=2h&limit=9&q=cursor&level=',
        `${path}&workspace=x`,
      ]) {
        expect(listOf(await answerOf(reader, `${same}&cursor=${cursor}`), 'logs'), same).to.have.length(2)
      }
    })

    it('do not go on with another query or at another endpoint', async () => {
      for (const other of [
        '/api/app/logs/search?q=cursors&from=2h',
        '/api/app/logs/search?q=cursor',
        '/api/app/logs/search?q=cursor&from=3h',
        '/api/app/logs/search?q=cursor&from=2h&order=asc',
        '/api/app/logs/search?q=cursor&from=2h&level=info',
        '/api/app/logs/search?',
        '/api/app/traces/search?q=cursor&from=2h',
        '/api/app/correlation?id=x',
      ]) {
        expect(await refusedAs(`${other}&cursor=${cursor}`), other).to.deep.equal([400, 'cursor_mismatch'])
      }
      const listing = await withKey(server.baseUrl, server.firstRun.keys.api).get(
        `/api/v1/traces?q=cursor&from=2h&cursor=${cursor}`,
      )
      expect([listing.status, listing.body['code']]).to.deep.equal([400, 'cursor_mismatch'])
    })

    it('are refused when any bit of them was changed, and when they are none', async () => {
      const bytes = Buffer.from(cursor)
      for (let index = 0; index < bytes.length; index += 3) {
        const flipped = Buffer.from(bytes)
        flipped[index] = (flipped[index] ?? 0) ^ 1
        const changed = encodeURIComponent(flipped.toString('latin1'))
        expect(await refusedAs(`${path}&cursor=${changed}`), `byte ${index}`).to.deep.equal([400, 'invalid_cursor'])
      }
      for (const none of ['x', '.', 'a.b', 'null', '%00', 'eyJ9.eyJ9', '💥']) {
        expect(await refusedAs(`${path}&cursor=${none}`), none).to.deep.equal([400, 'invalid_cursor'])
      }
      expect(await refusedAs(`${path}&cursor=${'x'.repeat(4_097)}`)).to.deep.equal([400, 'invalid_parameter'])
    })
  })
})
