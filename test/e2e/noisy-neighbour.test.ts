import { expect } from 'chai'
import { answerOf, at, getComplete, listOf, positionOf, post, signIn, type Reader } from '../support/client.ts'
import { borrowServer, type LentServer } from '../support/lent-server.ts'
import { createTenant, type Tenant } from '../support/tenant.ts'

const json = { 'content-type': 'application/json' }
const requests = 200
const linesOfEach = 500
const path = '/api/logs/v1/ingest'

/** A burst that takes a projector some seconds, from one workspace: the position of its end. */
async function sendBurst(server: LentServer, key: string): Promise<number> {
  const lines = Array.from({ length: linesOfEach }, (_, n) => ({
    message: `burst line ${n} of many`,
    service: 'noisy',
    n,
  }))
  const body = JSON.stringify(lines)
  let last = 0
  for (let sent = 0; sent < requests; sent += 10) {
    const answers = await Promise.all(Array.from({ length: 10 }, () => post(server, path, key, body, json)))
    expect(new Set(answers.map(({ status }) => status))).to.deep.equal(new Set([200]))
    last = Math.max(last, ...answers.map(positionOf))
  }
  return last
}

describe('a workspace beside one that has sent very much', () => {
  let server: LentServer
  let noisy: Tenant
  let quiet: Tenant
  let noisyReader: Reader
  let quietReader: Reader

  before(async () => {
    server = await borrowServer()
    noisy = await createTenant(server, 'noisy', 'unlimited')
    quiet = await createTenant(server, 'quiet', 'unlimited')
    noisyReader = await signIn(server.baseUrl, noisy.sign_in)
    quietReader = await signIn(server.baseUrl, quiet.sign_in)
  })
  after(async () => {
    await server.giveBack()
  })

  it('finds what it sends before all of that is folded, and is told that nothing of its own is missing', async () => {
    const burstEnd = await sendBurst(server, noisy.keys.logs)
    const sent = await post(server, path, quiet.keys.logs, JSON.stringify({ message: 'a quiet line' }), json)
    const position = positionOf(sent)
    const search = '/api/app/logs/search?q=quiet'
    let found = await answerOf(quietReader, search)
    const isWhole = (): boolean =>
      Number(at(found, 'index', 'position')) >= position && at(found, 'index', 'complete') === true
    while (!isWhole()) found = await answerOf(quietReader, search)
    expect(listOf(found, 'logs')).to.have.length(1)
    const other = await answerOf(noisyReader, '/api/app/logs/search?limit=1')
    expect(at(other, 'index', 'complete'), 'the burst is still being folded').to.equal(false)
    expect(Number(at(other, 'index', 'position'))).to.be.below(burstEnd)
    const whole = await getComplete(noisyReader, '/api/app/logs/search?limit=1&include=count')
    expect(at(whole.body, 'count')).to.equal(requests * linesOfEach)
  })
})
