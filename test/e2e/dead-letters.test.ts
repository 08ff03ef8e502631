import { join } from 'node:path'
import { expect } from 'chai'
import { limits } from '#src/config.ts'
import { sealEvent } from '#src/events/codec.ts'
import { noCounts } from '#src/events/envelope.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import type { JsonObject } from '#src/lib/json.ts'
import { createSqliteStream } from '#streams/sqlite/stream.ts'
import { cli, firstWorkspaceOf } from '../support/cli.ts'
import { answerOf, at, listOf, signIn, untilIndexed } from '../support/client.ts'
import { runProgram } from '../support/run-program.ts'
import { createTenant, type Tenant } from '../support/tenant.ts'
import { removeFolder, startServer, type Server } from '../support/server.ts'
import { sendingTo } from '../support/workspace.ts'

const broken = '[{"message":"half a batch"'

describe('dead letters of a running server', () => {
  let server: Server
  let position: string
  let workspaceId: WorkspaceId
  let other: Tenant
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
  /** Whether answers to this workspace, and to the one that sent nothing broken, have all that was sent. */
  const complete = async (): Promise<readonly unknown[]> => {
    await untilIndexed(server)
    const accounts = [server.firstRun.sign_in, other.sign_in]
    const readers = await Promise.all(accounts.map((account) => signIn(server.baseUrl, account)))
    const answers = await Promise.all(readers.map((reader) => answerOf(reader, '/api/app/logs/search')))
    return answers.map((answer) => at(answer, 'index', 'complete'))
  }
  /** What no request can bring into the log: a payload that its own decoder refuses. Where it stands. */
  const appendBroken = async (name: string): Promise<string> => {
    const file = join(server.dataFolder, 'log', '0.db')
    const stream = await createSqliteStream({ file, partition: '0', thread: false, limits })
    const event = sealEvent(
      {
        id: `${workspaceId}.logs.${name}`,
        type: 'logs.received',
        schemaVersion: 1,
        workspaceId,
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
    workspaceId = await firstWorkspaceOf(server)
    other = await createTenant(server, 'other', 'pro')
    expect(await complete()).to.deep.equal([true, true])
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
    expect(logs).to.deep.include({ state: 'open', workspace: workspaceId, type: 'logs.received' })
    expect(logs?.['reason']).to.match(/^decode logs.received at \d+: ./)
  })

  it('are shown with their bytes', async () => {
    const shown = await cli(server, 'dead-letters', 'show', position)
    expect(Buffer.from(String(shown['payload_base64']), 'base64').toString()).to.equal(broken)
    expect(at(shown, 'event', 'type')).to.equal('logs.received')
  })

  it('are counted by status, and answers to their workspace say that they lack something', async () => {
    expect(await counts()).to.include({ logs: 1 })
    expect(await complete()).to.deep.equal([false, true])
    const page = await (await signIn(server.baseUrl, server.firstRun.sign_in)).raw('/app/logs')
    expect(await page.text()).to.include('The index lacks something that was sent')
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
    expect(await complete(), 'given up').to.deep.equal([true, true])
    const retried = await cli(server, 'dead-letters', 'retry', position)
    expect(retried['retried']).to.include('logs')
    expect(await log('last')).to.equal(1)
    const letters = listOf(await cli(server, 'dead-letters', 'list'), 'dead_letters').filter(
      (one) => one['projection'] === 'logs',
    )
    expect(letters.map(({ state }) => state)).to.deep.equal(['retried', 'open'])
    expect(await complete(), 'open again').to.deep.equal([false, true])
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
