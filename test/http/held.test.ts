import { once } from 'node:events'
import { expect } from 'chai'
import { limits } from '#src/config.ts'
import { createHttpServer } from '#src/http/server.ts'
import { listenAnywhere, rawConnection, rawStatus } from '#test/support/http.ts'
import { standStill } from '#test/support/stand-still.ts'

describe('a server whose process stood still', () => {
  it('does not call a sender slow whose headers it has not read', async () => {
    const { server, stop } = createHttpServer(() => undefined, { limits: { ...limits, headersTimeoutMs: 2_000 } })
    const accepted = once(server, 'connection')
    const raw = await rawConnection(await listenAnywhere(server))
    raw.write('POST /secret HTTP/1.1\r\nHost: ')
    await accepted
    standStill(3_500)
    const refused = await raw.ended()
    expect(rawStatus(refused)).to.equal(503)
    expect(refused).to.contain('"code":"unavailable"').and.to.contain('Retry-After: 1\r\n')
    await stop()
  })
})
