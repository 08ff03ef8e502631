import { expect } from 'chai'
import type { JsonObject } from '#src/lib/json.ts'
import { at, completeAnswerOf, listOf, post, signIn, untilIndexed, type Reader } from '../support/client.ts'
import { borrowServer, type LentServer } from '../support/lent-server.ts'
import { sendingTo } from '../support/workspace.ts'

const names = Array.from({ length: 12 }, (_, index) => `line ${index}`)

describe('records of one request, none of which has a time', () => {
  let server: LentServer
  let reader: Reader

  before(async () => {
    server = await borrowServer()
    reader = await signIn(server.baseUrl, server.firstRun.sign_in)
    const { keys } = server.firstRun
    const headers = { 'content-type': 'text/plain' }
    expect((await post(server, '/api/logs/v1/ingest', keys.logs, names.join('\n'), headers)).status).to.equal(200)
    await sendingTo(server, keys).rum({ session_id: 'visit', events: names.map((name) => ({ type: 'step', name })) })
    await untilIndexed(server)
  })
  after(() => server.giveBack())

  async function pages(query: string): Promise<string[]> {
    const found: string[] = []
    for (let cursor: unknown = ''; typeof cursor === 'string';) {
      const more = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`
      const page: JsonObject = await completeAnswerOf(reader, `/api/app/logs/search?limit=5&${query}${more}`)
      found.push(...listOf(page, 'logs').map(({ message }) => String(message)))
      cursor = page['next_cursor']
    }
    return found
  }

  it('are listed as they stood there, and the other way round, page by page', async () => {
    expect(await pages('order=asc')).to.deep.equal(names)
    expect(await pages('order=desc')).to.deep.equal([...names].reverse())
  })

  it('are exported as they stood there', async () => {
    const response = await reader.raw('/app/logs/export?order=asc&format=ndjson')
    const lines = (await response.text()).trimEnd().split('\n')
    expect(lines.map((line) => (JSON.parse(line) as JsonObject)['message'])).to.deep.equal(names)
  })

  it('stand so in the session of a browser too', async () => {
    const answer = await completeAnswerOf(reader, '/api/app/correlation?session_id=visit')
    const events = at(answer, 'rum_events', 'items') as readonly JsonObject[]
    expect(events.map(({ name }) => name)).to.deep.equal(names)
  })
})
