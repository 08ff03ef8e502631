import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { limits } from '#src/config.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import { connectNats } from '#streams/jetstream/connect.ts'
import { openJetStream } from '#streams/jetstream/stream.ts'
import { askServer } from '#test/streams/jetstream-log.ts'
import { cli } from '../support/cli.ts'
import { listOf, signIn, untilIndexed } from '../support/client.ts'
import { enginesTimeoutMs } from '../support/engines.ts'
import { makeEvent } from '../support/make-event.ts'
import { runVerb, runVerbAgain } from '../support/run-program.ts'
import type { FirstRun } from '../support/server.ts'
import { sendingTo } from '../support/workspace.ts'
import { createTestCluster, type RoleProcess, type TestCluster } from './cluster-process.ts'

describe('a cluster whose logs lack messages', function () {
  this.timeout(600_000)
  let test: TestCluster
  let ingest: RoleProcess
  let firstRun: FirstRun

  before(async function () {
    this.timeout(enginesTimeoutMs)
    test = await createTestCluster()
    ingest = await test.start('ingest')
    await cli(test, 'first-run', '--base-url', ingest.baseUrl)
    firstRun = JSON.parse(await readFile(join(test.dataFolder, 'first-run.json'), 'utf8')) as FirstRun
  })
  after(() => test.remove())

  /** In each partition. `beforeIt`: between the append of it, and of another that stays, and the loss. */
  async function loseMessage(beforeIt?: () => Promise<void>): Promise<void> {
    const { natsUrl: url, indexPrefix: prefix, partitions } = test.cluster.config
    const nats = await connectNats({ url })
    const streams = await Promise.all(
      Array.from({ length: partitions }, (_, partition) =>
        openJetStream(nats, { partition: String(partition), prefix, limits }),
      ),
    )
    for (const stream of streams) {
      await stream.append([makeEvent('gone', { workspaceId: workspaceIdOf('gone') })])
      if (beforeIt !== undefined) await stream.append([makeEvent('stays', { workspaceId: workspaceIdOf('stays') })])
    }
    await beforeIt?.()
    for (const { partition, epoch } of streams)
      await askServer(nats, `STREAM.PURGE.${prefix}-TELEMETRY_${partition}`, { filter: `*.*.${epoch}.gone.>` })
    for (const stream of streams) await stream.close()
    await nats.close()
  }
  const run = (...args: readonly string[]) =>
    [['src/main.ts', ...args], { ...process.env, ...test.cluster.environment }] as const

  it('is folded without them once somebody says so, and indexes that are folded anew are the same', async () => {
    const send = sendingTo(ingest, firstRun.keys)
    await loseMessage()
    await send.logs([{ message: 'one' }])
    await loseMessage()
    await send.logs([{ message: 'two' }])
    await loseMessage()
    const unaware = await test.start('project')
    await unaware.printed(/a partition could not be folded on: read message 2 .*start project with ALLOW_LOST_LOG=1/, 0)
    await unaware.stop()

    const aware = await test.start('project', { ALLOW_LOST_LOG: '1' })
    for (const partition of [0, 1]) {
      const said = new RegExp(
        `^partition ${partition} goes on without what is missing in its log so far, as ALLOW_LOST_LOG says: read message 2 `,
      )
      await aware.printed(said, 0)
    }
    await untilIndexed({ dataFolder: test.dataFolder, output: aware.lines })
    await aware.stop()
    const query = await test.start('query')
    const project = await test.start('project')
    await send.logs([{ message: 'three' }])
    await untilIndexed({ dataFolder: test.dataFolder, output: project.lines })
    const reader = await signIn(query.baseUrl, firstRun.sign_in)
    const found = async () =>
      listOf((await reader.get('/api/app/logs/search')).body, 'logs').map(({ message }) => message)
    expect(await found()).to.have.members(['one', 'two', 'three'])
    const rebuilt = await runVerbAgain(...run('rebuild', 'all'))
    expect(rebuilt.code, rebuilt.err).to.equal(0)
    expect(await found()).to.have.members(['one', 'two', 'three'])
    const verified = await runVerb(...run('verify', 'all'))
    expect(verified.code, verified.err).to.equal(0)
    expect(verified.out).to.match(/^logs\S+ of partition \d is what the log says/m)

    // What goes missing behind the place that projectors have come to is nothing that they meet.
    await loseMessage(() => untilIndexed({ dataFolder: test.dataFolder, output: project.lines }))
    const refused = await runVerbAgain(...run('rebuild', 'all'))
    expect([refused.code, refused.err]).to.satisfy(
      ([code, err]: [number, string]) => code !== 0 && /it is missing/.test(err),
    )
    await project.stop()
    const behind = await test.start('project', { ALLOW_LOST_LOG: '1' })
    for (const partition of [0, 1])
      await behind.printed(new RegExp(`^partition ${partition} goes on without what is missing`), 0)
    const anew = await runVerbAgain(...run('rebuild', 'all'))
    expect(anew.code, anew.err).to.equal(0)
    expect(await found()).to.have.members(['one', 'two', 'three'])
  })
})
