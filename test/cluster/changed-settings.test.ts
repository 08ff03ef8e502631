import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { after, before, describe, it } from 'mocha'
import { connectNats } from '#streams/jetstream/connect.ts'
import { askServer } from '#test/streams/jetstream-log.ts'
import { cli } from '../support/cli.ts'
import { untilIndexed } from '../support/client.ts'
import { enginesTimeoutMs } from '../support/engines.ts'
import type { FirstRun } from '../support/server.ts'
import { sendingTo } from '../support/workspace.ts'
import { createTestCluster, type TestCluster } from './cluster-process.ts'

describe('a cluster whose logs somebody changes while it runs', function () {
  this.timeout(600_000)
  let test: TestCluster
  before(async function () {
    this.timeout(enginesTimeoutMs)
    test = await createTestCluster({ partitions: 1 })
  })
  after(() => test.remove())

  it('says that an age limit loses what was acknowledged, also where nothing is sent, and when that is over; and that a purge took their beginning', async () => {
    const [ingest, projector] = await Promise.all([test.start('ingest'), test.start('project')])
    await cli(test, 'first-run', '--base-url', 'http://x')
    const { keys } = JSON.parse(await readFile(join(test.dataFolder, 'first-run.json'), 'utf8')) as FirstRun
    await sendingTo(ingest, keys).logs([{ message: 'acknowledged' }])
    await untilIndexed({ dataFolder: test.dataFolder, output: projector.lines })
    const { INDEX_PREFIX = '', NATS_URL = '' } = test.cluster.environment
    const stream = `${INDEX_PREFIX}-TELEMETRY_0`
    const nats = await connectNats({ url: NATS_URL })
    const { config } = (await askServer(nats, `STREAM.INFO.${stream}`)) as { config: object }
    const change = (changed: object) => askServer(nats, `STREAM.UPDATE.${stream}`, { ...config, ...changed })
    await change({ max_age: 86_400_000_000_000 })
    const said = await projector.printed(/was changed/, 0)
    expect(said).to.equal(
      `stream ${stream} was changed, and acknowledged events may be lost: max_age is set; set it back`,
    )
    await change({})
    await projector.printed(/was changed: it is as it should be$/, 0)
    await askServer(nats, `STREAM.PURGE.${stream}`)
    const gone = new RegExp(
      `^stream ${stream} has lost its beginning, up to message \\d+, and no retention dropped that: `,
    )
    // Not with the next run of retention, which is an hour away.
    await projector.printed(gone, 0)
    await nats.close()
  })
})
