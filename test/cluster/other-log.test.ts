import { expect } from 'chai'
import { after, before, describe, it } from 'mocha'
import { refuseOtherLog } from '#src/compose/threads/other-log.ts'
import { PermanentError } from '#src/lib/failure.ts'
import { useElasticsearchStores } from '#test/support/elasticsearch-stores.ts'
import { enginesTimeoutMs } from '#test/support/engines.ts'
import { counting } from '#test/support/line-projections.ts'
import { events, foldAhead } from '#test/support/put-back-log.ts'
import { makeJetStreamLog, type JetStreamLog } from '#test/streams/jetstream-log.ts'

describe('a partition whose log is not the one that its indexes were folded from', function () {
  this.timeout(enginesTimeoutMs)
  const stores = useElasticsearchStores()
  const logs: JetStreamLog[] = []
  before(async () => {
    for (let count = 0; count < 2; count++) logs.push(await makeJetStreamLog())
  })
  after(async () => {
    for (const log of logs) await log.remove()
  })

  it('is not folded, so that what only the indexes hold stays, unless somebody says that it may go', async () => {
    const streams = await Promise.all(logs.map((log) => log.open()))
    const [own, other] = streams as [(typeof streams)[0], (typeof streams)[0]]
    await own.append(events)
    await foldAhead(own, stores.makeWriter())
    const told: string[] = []
    const look = (stream: typeof own, allowLostLog = false): Promise<void> =>
      refuseOtherLog({
        stream,
        writer: stores.makeWriter(),
        projections: [counting],
        allowLostLog,
        tell: (line) => told.push(line),
      })
    await look(own)
    const failure = await look(other).catch((error: unknown) => error)
    expect(failure).to.be.instanceOf(PermanentError)
    expect(String(failure)).to.match(/partition 0 \(it is another log .* up to position \d+: .*ALLOW_LOST_LOG=1\)$/)
    expect(told).to.deep.equal([])
    await look(other, true)
    expect(told.join('\n')).to.match(/^partition 0: it is another log .* folded anew without it.*$/)
    for (const stream of streams) await stream.close()
  })
})
