import { expect } from 'chai'
import { formatTimeNs } from '#src/lib/time.ts'
import { answerOf, at, listOf, signIn, untilIndexed, type Reader } from '../support/client.ts'
import { borrowServer, type LentServer } from '../support/lent-server.ts'
import { hex } from '../support/telemetry.ts'
import { minutesAgoNs, sendingTo } from '../support/workspace.ts'

/** Ids that are told apart by nothing but what a search of words folds. */
const sessions = [
  'Kx3fQ',
  'kX3fq',
  'kx3fq',
  'kx3fq x',
  'kx3fq  x',
  `${'A'.repeat(60)}${'b'.repeat(60)}`,
  `${'a'.repeat(60)}${'b'.repeat(60)}`,
]
const traceOf = (session: string): string => hex(32, 'of', sessions.indexOf(session))

describe('a session id', () => {
  let server: LentServer
  let reader: Reader
  before(async () => {
    server = await borrowServer()
    reader = await signIn(server.baseUrl, server.firstRun.sign_in)
    const send = sendingTo(server, server.firstRun.keys)
    const startNs = minutesAgoNs(5)
    for (const id of sessions) {
      const attributes = { 'session.id': id }
      await send.spans([{ traceId: traceOf(id), spanId: hex(16, id), name: 'op', startNs, attributes }])
      await send.logs([{ message: id, session_id: id, timestamp: formatTimeNs(startNs) }])
      const timestamp = formatTimeNs(startNs).replace(/0{6}Z$/, 'Z')
      await send.rum({ meta: { session: { id } }, events: [{ name: id, timestamp }] })
    }
    await untilIndexed(server)
  })
  after(() => server.giveBack())

  for (const id of sessions) {
    const query = `session_id=${encodeURIComponent(id)}`
    it(`is compared as it is: ${id}`, async () => {
      const logs = await answerOf(reader, `/api/app/logs/search?${query}`)
      expect(listOf(logs, 'logs').map(({ message }) => message)).to.deep.equal([id])
      for (const asked of [query, `q=${encodeURIComponent(`session_id="${id}"`)}`]) {
        const traces = await answerOf(reader, `/api/app/traces/search?${asked}`)
        expect(
          listOf(traces, 'traces').map((trace) => trace['trace_id']),
          asked,
        ).to.deep.equal([traceOf(id)])
      }
    })

    it(`joins what bears it, and nothing else: ${id}`, async () => {
      for (const asked of [query, `id=${encodeURIComponent(id)}`]) {
        const found = await answerOf(reader, `/api/app/correlation?${asked}`)
        expect(at(found, 'ids'), asked).to.deep.include({ session_ids: [id], trace_ids: [traceOf(id)] })
        for (const [part, name] of [
          ['logs', 'message'],
          ['rum_events', 'name'],
        ] as const)
          expect(
            listOf(found[part] as never, 'items').map((item) => item[name]),
            asked,
          ).to.deep.equal([id])
      }
    })
  }

  it('is found by words of it, as all text is, in a search of logs', async () => {
    const found = await answerOf(reader, `/api/app/logs/search?q=${encodeURIComponent('session_id:KX3FQ')}`)
    expect(listOf(found, 'logs').map(({ message }) => message)).to.have.members(sessions.slice(0, 5))
  })
})
