import { expect } from 'chai'
import { stringifyJson } from '#src/lib/json.ts'
import type { IndexState } from '#src/query/context.ts'
import { positionOf, signIn, type Reader } from '../support/client.ts'
import { borrowServer, type LentServer } from '../support/lent-server.ts'
import { hex } from '../support/telemetry.ts'
import { sendingTo } from '../support/workspace.ts'

describe('who is asked right after an acknowledgement', () => {
  let server: LentServer
  let reader: Reader

  before(async () => {
    server = await borrowServer()
    reader = await signIn(server.baseUrl, server.firstRun.sign_in)
  })
  after(() => server.giveBack())

  it('finds what was acknowledged, or says that the index is not complete', async () => {
    const send = sendingTo(server, server.firstRun.keys)
    for (let round = 0; round < 20; round++) {
      const id = hex(32, `acknowledged ${round}`)
      const position = positionOf(await send.logs([{ message: 'a moment ago', trace_id: id }]))
      const paths = ['/api/app/correlation', '/api/app/logs/search', '/api/app/traces/search']
      const answers = await Promise.all(paths.map((path) => reader.get(`${path}?trace_id=${id}`)))
      for (const { status, body } of answers) {
        expect(status, stringifyJson(body)).to.equal(200)
        const index = body['index'] as unknown as IndexState
        if (index.complete) expect(index.position).to.be.at.least(position)
      }
    }
  })
})
