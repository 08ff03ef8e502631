import { expect } from 'chai'
import { stringifyJson, type JsonObject } from '#src/lib/json.ts'
import type { IndexState } from '#src/query/context.ts'
import { listOf, positionOf, signIn, type Reader } from '../support/client.ts'
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
      const sought: readonly [string, (body: JsonObject) => number, number][] = [
        ['/api/app/correlation', (body) => listOf(body['logs'] as JsonObject, 'items').length, 1],
        ['/api/app/logs/search', (body) => listOf(body, 'logs').length, 1],
        // There is no span of it.
        ['/api/app/traces/search', (body) => listOf(body, 'traces').length, 0],
      ]
      await Promise.all(
        sought.map(async ([path, found, expected]) => {
          for (;;) {
            const { status, body } = await reader.get(`${path}?trace_id=${id}`)
            expect(status, stringifyJson(body)).to.equal(200)
            const index = body['index'] as unknown as IndexState
            if (!index.complete) continue
            expect(index.position).to.be.at.least(position)
            expect(found(body), path).to.equal(expected)
            return
          }
        }),
      )
    }
  })
})
