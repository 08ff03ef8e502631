import { existsSync, renameSync, rmSync } from 'node:fs'
import { expect } from 'chai'
import { foldersOf } from '#src/compose/folders.ts'
import { completeAnswerOf, listOf, signIn, untilIndexed } from '../support/client.ts'
import { removeFolder, startServer, type Server } from '../support/server.ts'
import { sendingTo } from '../support/workspace.ts'

describe('a server whose files are moved while it runs', () => {
  let server: Server
  const send = (message: string): Promise<unknown> =>
    sendingTo(server, server.firstRun.keys).logs([{ message, service: 'shop' }])
  const found = async (): Promise<readonly string[]> => {
    await untilIndexed(server)
    const reader = await signIn(server.baseUrl, server.firstRun.sign_in)
    const body = await completeAnswerOf(reader, '/api/app/logs/search?service=shop')
    return listOf(body, 'logs')
      .map(({ message }) => String(message))
      .sort()
  }

  beforeEach(async () => {
    server = await startServer()
    await send('one')
    // Where it is just being opened, a file that is moved cannot be written to: folding would stop.
    await untilIndexed(server)
  })
  afterEach(async () => {
    await server.stop()
    await removeFolder(server.dataFolder)
  })

  it('begins no other installation where its data folder was, and goes on when that is put back', async () => {
    const away = `${server.dataFolder}.away`
    renameSync(server.dataFolder, away)
    const waits = server.printed(
      /^no new worker could be started: .*\(it was moved or removed while the server runs: put it/,
    )
    process.kill(server.workerPid(), 'SIGKILL')
    await waits
    expect(existsSync(server.dataFolder)).to.equal(false)
    const serves = server.printed(/^worker \d+ serves/)
    renameSync(away, server.dataFolder)
    await serves
    await send('two')
    expect(await found()).to.deep.equal(['one', 'two'])
  })

  it('is not given another worker, and goes on with the one it has', async () => {
    const away = `${server.dataFolder}.away`
    renameSync(server.dataFolder, away)
    const pid = server.workerPid()
    const why = await server.replace().catch((error: Error) => error.message)
    expect(why).to.match(
      /^the replacement was given up: .*\(it was moved or removed while the server runs: put it back/,
    )
    expect(why).to.include(`worker ${pid} goes on`)
    expect(existsSync(server.dataFolder)).to.equal(false)
    renameSync(away, server.dataFolder)
    await send('two')
    expect(await found()).to.deep.equal(['one', 'two'])
    expect(server.workerPid()).to.equal(pid)
  })

  it('loses nothing acknowledged where the WAL of its log is removed', async () => {
    const serves = server.printed(/^worker \d+ serves/)
    rmSync(`${foldersOf(server.dataFolder).log.file}-wal`)
    await send('two').catch(() => undefined)
    await serves
    await send('three')
    expect(await found()).to.include.members(['one', 'three'])
  })
})
