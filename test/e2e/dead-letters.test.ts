import { join } from 'node:path'
import { expect } from 'chai'
import { limits } from '#src/config.ts'
import { sealEvent } from '#src/events/codec.ts'
import { noCounts } from '#src/events/envelope.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import type { JsonObject } from '#src/lib/json.ts'
import { createSqliteStream } from '#streams/sqlite/stream.ts'
import { cli } from '../support/cli.ts'
import { answerOf, at, listOf, signIn, untilIndexed } from '../support/client.ts'
import { runProgram } from '../support/run-program.ts'
import { removeFolder, startServer, type Server } from '../support/server.ts'
import { sendingTo } from '../support/workspace.ts'

const broken = '[{"message":"half a batch"'

describe('dead letters of a running server', () => {
  let server: Server
  let position: string
  const counts = async (): Promise<Readonly<Record<string, unknown>>> => {
    const status = await cli(server, 'status')
    return Object.fromEntries(listOf(status, 'indexes').map((one) => [String(one['projection']), one['dead_letters']]))
  }
  const log = async (message: string): Promise<number> => {
    await sendingTo(server, server.firstRun.keys).logs([{ message }])
    await untilIndexed(server)
    const reader = await signIn(server.baseUrl, server.firstRun.sign_in)
    return listOf(await answerOf(reader, `/api/app/logs/search?q=${message}`), 'logs').length
  }
  /** What no request can bring into the log: a payload that its own decoder refuses. Where it stands. */
  const appendBroken = async (name: string): Promise<string> => {
    const file = join(server.dataFolder, 'log', '0.db')
    const stream = await createSqliteStream({ file, partition: '0', thread: false, limits })
    const event = sealEvent(
      {
        id: `${server.firstRun.workspace}.logs.${name}`,
        type: 'logs.received',
        schemaVersion: 1,
        workspaceId: workspaceIdOf(server.firstRun.workspace),
        keyId: null,
        receivedAt: Date.now(),
        retentionClass: '7d',
        identified: true,
        counts: { ...noCounts, logs: 1 },
        contentType: 'application/json',
      },
      Buffer.from(broken),
    )
    const { last } = await stream.append([event])
    await stream.close()
    return `0/${last}`
  }
  /** The last line is the answer; those before it tell of progress. */
  const lastLine = async (...args: readonly string[]): Promise<JsonObject> => {
    const argv = ['src/main.ts', ...args, '--json', '--data', server.dataFolder]
    return JSON.parse((await runProgram(process.execPath, argv)).at(-1) ?? '') as JsonObject
  }
  const verifyAll = async (): Promise<readonly unknown[]> =>
    listOf(await lastLine('verify', 'all'), 'verdicts').map(({ equal }) => equal)

  before(async () => {
    server = await startServer()
    expect(await log('before')).to.equal(1)
    position = await appendBroken('first')
  })
  after(async () => {
    await server.stop()
    await removeFolder(server.dataFolder)
  })

  it('are listed with their reason, while what comes after them is found', async () => {
    expect(await log('after')).to.equal(1)
    const letters = listOf(await cli(server, 'dead-letters', 'list'), 'dead_letters')
    expect(letters.map((one) => one['position'])).to.deep.equal(letters.map(() => position))
    expect(letters.map((one) => one['projection'])).to.include('logs')
    const logs = letters.find((one) => one['projection'] === 'logs')
    expect(logs).to.deep.include({ state: 'open', workspace: server.firstRun.workspace, type: 'logs.received' })
    expect(logs?.['reason']).to.match(/^decode logs.received at \d+: ./)
  })

  it('are shown with their bytes', async () => {
    const shown = await cli(server, 'dead-letters', 'show', position)
    expect(Buffer.from(String(shown['payload_base64']), 'base64').toString()).to.equal(broken)
    expect(at(shown, 'event', 'type')).to.equal('logs.received')
  })

  it('are counted by status', async () => {
    expect(await counts()).to.include({ logs: 1 })
  })

  it('are left out by verify and rebuild alike', async () => {
    expect(new Set(await verifyAll())).to.deep.equal(new Set([true]))
    const rebuilt = await lastLine('rebuild', 'logs')
    expect(listOf(rebuilt, 'rebuilt').map((one) => one['outcome'])).to.deep.equal(['moved'])
    expect(await log('later')).to.equal(1)
  })

  it('are dropped, or tried again and listed at a new place', async () => {
    await cli(server, 'dead-letters', 'drop', position)
    expect(await counts()).to.include({ logs: 0 })
    const retried = await cli(server, 'dead-letters', 'retry', position)
    expect(retried['retried']).to.include('logs')
    expect(await log('last')).to.equal(1)
    const letters = listOf(await cli(server, 'dead-letters', 'list'), 'dead_letters').filter(
      (one) => one['projection'] === 'logs',
    )
    expect(letters.map(({ state }) => state)).to.deep.equal(['retried', 'open'])
    const again = await cli(server, 'dead-letters', 'show', String(letters[1]?.['position']))
    expect(Buffer.from(String(again['payload_base64']), 'base64').toString()).to.equal(broken)
    expect(new Set(await verifyAll())).to.deep.equal(new Set([true]))
  })

  it('are decided by the workers of a rebuild where no server runs', async () => {
    await server.stop()
    const second = await appendBroken('second')
    const rebuilt = await lastLine('rebuild', 'logs')
    expect(listOf(rebuilt, 'rebuilt').map((one) => one['outcome'])).to.deep.equal(['moved'])
    const letters = listOf(await cli(server, 'dead-letters', 'list'), 'dead_letters')
    const last = letters.findLast((one) => one['projection'] === 'logs')
    expect(last).to.deep.include({ position: second, state: 'open' })
  })
})
