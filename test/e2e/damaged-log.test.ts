import { cpSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect } from 'chai'
import { foldersOf } from '#src/compose/folders.ts'
import type { JsonObject } from '#src/lib/json.ts'
import { cli } from '../support/cli.ts'
import { at, completeAnswerOf, figuresOf, listOf, post, postOnce, signIn, untilIndexed } from '../support/client.ts'
import { newDataFolder, removeFolder, startServer, type Server } from '../support/server.ts'
import { runVerb } from '../support/run-program.ts'
import { hex } from '../support/telemetry.ts'
import { sendingTo } from '../support/workspace.ts'

const messages = 80
const pageBytes = 4_096
const messageOf = (n: number): string => `order-${n}-was-stored`

/** Moves what a killed server left in the WAL into the file, as any program does that opens it. */
function settleWal(file: string): void {
  const database = new DatabaseSync(file)
  database.prepare('SELECT count(*) FROM events').get()
  database.close()
}

/** Overwrites bytes of a file from where it holds a text on; its bytes then. */
function damage(file: string, text: string, bytes: (at: number) => Readonly<{ from: number; to: number }>): Buffer {
  const all = readFileSync(file)
  const at = all.indexOf(text)
  expect(at, `${text} is in ${file}`).to.be.greaterThan(0)
  const { from, to } = bytes(at)
  all.fill(0xa5, from, to)
  writeFileSync(file, all)
  return all
}
const thePage = (at: number) => ({ from: at - (at % pageBytes), to: at - (at % pageBytes) + pageBytes })

describe('a server whose files were damaged', () => {
  /** Of a server that has all messages and was stopped: each test has a copy. */
  let stoppedFolder: string
  let dataFolder: string
  let server: Server
  const start = async (): Promise<void> => {
    server = await startServer({ environment: { OPERATIONS_PORT: '0' }, dataFolder })
  }
  const files = () => foldersOf(dataFolder)
  const metrics = async (): Promise<string> => {
    const line = server.output.find((each) => each.startsWith('Health and metrics on ')) ?? ''
    return figuresOf(line.slice('Health and metrics on '.length))
  }
  const figure = async (name: string, log: string): Promise<number> => {
    const [, value] = new RegExp(`^${name}\\{log="${log}"\\} (\\d+)$`, 'm').exec(await metrics()) ?? []
    return Number(value)
  }
  const send = (numbers: readonly number[]): Promise<unknown> => {
    const to = sendingTo(server, server.firstRun.keys)
    return Promise.all(
      numbers.map(async (n) => {
        await to.logs([{ message: messageOf(n), service: 'shop', filler: hex(200, 'filler', n) }])
        if (n % 4 === 0) {
          await to.spans([{ traceId: hex(32, 'damaged', n), spanId: hex(16, 'damaged', n), service: 'shop' }])
        }
      }),
    )
  }
  const found = async (): Promise<readonly string[]> => {
    await untilIndexed(server)
    const reader = await signIn(server.baseUrl, server.firstRun.sign_in)
    const body = await completeAnswerOf(reader, '/api/app/logs/search?service=shop&limit=200')
    return listOf(body, 'logs').map(({ message }) => String(message))
  }
  const quarantines = async (): Promise<readonly JsonObject[]> => listOf(await cli(server, 'status'), 'quarantines')
  const expectEqual = async (): Promise<void> => {
    const ran = await runVerb(['src/main.ts', 'verify', 'all', '--json', '--data', server.dataFolder])
    expect(ran.code, `${ran.out}${ran.err}`).to.equal(0)
  }
  const all = Array.from({ length: messages }, (_, n) => n)

  before(async () => {
    stoppedFolder = dataFolder = await newDataFolder()
    await start()
    await send(all)
    await untilIndexed(server)
    await server.stop()
  })
  after(() => removeFolder(stoppedFolder))
  beforeEach(async () => {
    dataFolder = await newDataFolder()
    cpSync(stoppedFolder, dataFolder, { recursive: true })
  })
  afterEach(async () => {
    await server.stop()
    await removeFolder(dataFolder)
  })

  it('sets the log aside, tells it for as long as it lies there, and goes on with all that can be read', async () => {
    await start()
    expect(await figure('throughline_quarantined_logs', 'log')).to.equal(0)
    expect(await quarantines()).to.deep.equal([])
    await server.kill()
    settleWal(files().log.file)
    const damaged = damage(files().log.file, messageOf(messages / 2), thePage)
    await start()
    const told = server.output.join('\n')
    expect(told).to.include('The event log was damaged, and was set aside').and.to.include('events, at positions')

    const kept = await found()
    expect(kept).to.not.include(messageOf(messages / 2))
    expect(kept, 'of one page some events are lost').to.have.length.within(messages - 20, messages - 1)
    const [said] = await quarantines()
    expect(said).to.include({ log: 'log' })
    expect(await figure('throughline_quarantined_logs', 'log')).to.equal(1)
    expect(await figure('throughline_quarantined_lost_events', 'log')).to.equal(Number(said?.['lost']))
    expect(Number(said?.['lost'])).to.be.at.least(messages - kept.length)
    expect(readFileSync(join(String(said?.['folder']), '0.db')).equals(damaged), 'byte for byte').to.equal(true)

    await send([messages])
    expect(new Set(await found())).to.deep.equal(new Set([...kept, messageOf(messages)]))
    await expectEqual()

    await server.stop()
    await start()
    expect(server.output.join('\n'), 'after further starts').to.include('The event log was damaged')
    expect(await quarantines()).to.have.length(1)
    await server.stop()
    rmSync(String(said?.['folder']), { recursive: true })
    await start()
    expect(server.output.join('\n')).to.not.include('damaged')
    expect(await figure('throughline_quarantined_logs', 'log')).to.equal(0)
    expect(await found()).to.have.length(kept.length + 1)
  })

  it('meets damage while it folds, stops there and says so, and sets it aside when its worker is the next time started', async () => {
    // A payload in the middle: a look at the ends of the log, and at headers here and there, does not meet it.
    damage(files().log.file, messageOf(3), (at) => ({ from: at, to: at + 4 }))
    rmSync(files().indexFolder, { recursive: true })
    mkdirSync(files().indexFolder)
    await start()
    await server.printed(/^the projector has ended.*checksum of its payload.*stop the server and start it again/, 0)
    await send([messages])
    const setAside = server.printed(/^The event log was damaged, and was set aside/)
    const serves = server.printed(/^worker \d+ serves/)
    process.kill(server.workerPid(), 'SIGKILL')
    await Promise.all([setAside, serves])
    const kept = await found()
    expect(new Set(kept)).to.deep.equal(new Set([...all, messages].filter((n) => n !== 3).map(messageOf)))
    expect(await quarantines()).to.have.length(1)
    await expectEqual()
  })

  it('answers who waits for a log that can take no more, and ends then; the next worker takes it', async () => {
    await start()
    const serves = server.printed(/^worker \d+ serves/)
    rmSync(`${files().log.file}-wal`)
    const body = JSON.stringify({ message: messageOf(messages), service: 'shop' })
    const type = { 'content-type': 'application/json' }
    const answer = await postOnce(server, '/api/logs/v1/ingest', server.firstRun.keys.logs, body, type)
    expect(answer.status).to.equal(503)
    expect(Number(answer.headers.get('retry-after'))).to.be.within(1, 4)
    await serves
    await send([messages + 1])
    expect(await found()).to.include(messageOf(messages + 1))
  })

  it('begins a new log where an older one was put back, so that no index takes what comes for what it has had', async () => {
    const older = readFileSync(files().log.file)
    await start()
    await send([messages])
    expect(await found()).to.have.length(messages + 1)
    await server.stop()
    writeFileSync(files().log.file, older)
    await start()
    expect(server.output.join('\n')).to.match(/it ends at event \d+, and event \d+ was in it/)
    await send([messages + 1])
    // Until the new index is there the old one is searched, which has been further than the log is now.
    let now = await found()
    while (!now.includes(messageOf(messages + 1))) now = await found()
    expect(new Set(now)).to.deep.equal(new Set([...all, messages + 1].map(messageOf)))
    await expectEqual()
  })

  it('does not start on an emptied log, of which the indexes have all that is left, until it is put back or they are moved away', async () => {
    const { log, indexFolder } = files()
    const whole = readFileSync(log.file)
    const expectRefused = async (): Promise<void> => {
      const refused = String(await start().catch((error: Error) => error))
      expect(refused).to.include('it was emptied').and.to.include(`mv '${indexFolder}' '${indexFolder}.old'`)
    }
    truncateSync(log.file, 0)
    await expectRefused()
    writeFileSync(log.file, whole)
    await start()
    expect(await found()).to.have.length(messages)
    await server.kill()
    truncateSync(log.file, 0)
    await expectRefused()
    renameSync(indexFolder, `${indexFolder}.old`)
    await start()
    expect(server.output.join('\n')).to.include('The event log was damaged, and was set aside')
    await send([messages])
    expect(await found()).to.include(messageOf(messages))
    await expectEqual()
  })

  it('removes an index whose record is damaged, and folds it again; makes the list of indexes again where that is damaged', async () => {
    const { indexFolder } = files()
    const [logs = ''] = readdirSync(indexFolder).filter((name) => name.startsWith('logs-'))
    for (const file of [join(indexFolder, 'live.db'), join(indexFolder, logs, 'meta.db')])
      writeFileSync(file, readFileSync(file).fill(0, 0, pageBytes))
    await start()
    const told = server.output.join('\n')
    expect(told).to.include(`the index ${logs} is removed, and folded again from the log`)
    expect(told).to.include('live.db is damaged: it is made again')
    expect(await found()).to.have.length(messages)
    await expectEqual()
    await server.stop()
    await start()
    expect(server.output.join('\n')).to.not.include('damaged')
  })

  it('misses a file of an index that was removed, says so wherever one looks, and has it again after a rebuild', async () => {
    const { indexFolder } = files()
    const [build = ''] = readdirSync(indexFolder).filter((name) => name.startsWith('logs-'))
    const [workspace = ''] = readdirSync(join(indexFolder, build)).filter((name) => !name.startsWith('meta.db'))
    const folder = join(indexFolder, build, workspace)
    const [file = ''] = readdirSync(folder).filter((name) => name.endsWith('.db'))
    rmSync(join(folder, file))
    await start()
    const told = server.output.filter((line) => line.includes('are gone'))
    expect(told).to.have.length(1)
    expect(told[0]).to.include(join(folder, file)).and.to.include('"throughline rebuild logs" folds them again')

    await send([messages])
    await sendingTo(server, server.firstRun.keys).logs([{ message: 'the last one', service: 'shop' }])
    const reader = await signIn(server.baseUrl, server.firstRun.sign_in)
    const ask = async (): Promise<JsonObject> => (await reader.get('/api/app/logs/search?service=shop&limit=200')).body
    let answer = await ask()
    while (!listOf(answer, 'logs').some(({ message }) => message === 'the last one')) answer = await ask()
    expect(listOf(answer, 'logs')).to.have.length(2)
    expect(at(answer, 'index', 'complete')).to.equal(false)
    /** Each index follows the log by itself; one that a busy machine has not let write for five seconds is silent until it does. */
    const stateOf = async (projection: string): Promise<readonly unknown[]> => {
      for (;;) {
        const found = listOf(await cli(server, 'status'), 'indexes').find((one) => one['projection'] === projection)
        if (found?.['state'] !== 'behind' && found?.['state'] !== 'silent')
          return [found?.['state'], found?.['lost_days']]
      }
    }
    expect([await stateOf('logs'), await stateOf('traces'), await stateOf('correlation')]).to.deep.equal([
      ['lacks days', 1],
      ['complete', 0],
      ['complete', 0],
    ])
    const unknown = await reader.get(`/api/app/correlation?id=${'5b'.repeat(16)}`)
    expect([unknown.status, at(unknown.body, 'index', 'complete')], 'it may be of the day').to.deep.equal([200, false])
    const gauge = 'throughline_index_lost_days{projection="logs",partition="0"}'
    expect(await metrics()).to.include(`${gauge} 1\n`)

    await runVerb(['src/main.ts', 'rebuild', 'logs', '--data', server.dataFolder])
    expect(await found()).to.have.length(messages + 2)
    expect([await stateOf('logs'), (await metrics()).includes(`${gauge} 0\n`)]).to.deep.equal([['complete', 0], true])
  })

  it('does not start on a directory of which no workspace is left, and leaves it as it is', async () => {
    const whole = readFileSync(files().directory.file)
    const damaged = damage(files().directory.file, 'directory.workspace.created', () => ({ from: 0, to: whole.length }))
    const refused = await start().catch((error: Error) => error)
    expect(String(refused)).to.include('none of its workspaces can be read: restore it from a backup')
    expect(readFileSync(files().directory.file).equals(damaged)).to.equal(true)
    writeFileSync(files().directory.file, whole)
    await start()
    expect(await found()).to.have.length(messages)
    expect(await quarantines()).to.deep.equal([])
  })

  it('goes on without what it cannot read of the directory, and says what that means', async () => {
    await start()
    const create = async (name: string): Promise<JsonObject> =>
      cli(server, 'key', 'create', '--workspace', server.firstRun.workspace, '--kind', 'logs', '--name', name)
    const lost = await create('a-key-that-is-lost')
    const kept = await create('a-key-that-is-kept')
    await server.stop()
    damage(files().directory.file, 'a-key-that-is-lost', (at) => ({ from: at, to: at + 4 }))
    await start()
    const told = server.output.join('\n')
    expect(told)
      .to.include('The directory (workspaces, keys, members) was damaged')
      .and.to.include('lost:     1 events')
    const status = async (key: JsonObject): Promise<number> =>
      (await post(server, '/api/logs/v1/ingest', String(key['secret']), '{"message":"hello"}')).status
    expect([await status(lost), await status(kept)]).to.deep.equal([401, 200])
    expect(await figure('throughline_quarantined_logs', 'directory')).to.equal(1)
    expect(readdirSync(files().quarantineFolder)).to.have.length(1)
    expect(await found(), 'the log and its indexes are as they were').to.have.length(messages)
  })

  it('says which workspaces a directory has lost that ends too early, and sends what was theirs to another', async () => {
    const older = readFileSync(files().directory.file)
    await start()
    const made = await cli(server, 'workspace', 'create', 'lost')
    const create = async (workspace: string): Promise<JsonObject> =>
      cli(server, 'key', 'create', '--workspace', workspace, '--kind', 'logs')
    const key = String((await create('lost'))['secret'])
    await sendingTo(server, { ...server.firstRun.keys, logs: key }).logs([{ message: 'kept', service: 'of-the-lost' }])
    const id = String(made['id'])
    await untilIndexed(server)
    await server.stop()
    expect(server.output.join('\n')).not.to.include('has lost its end')
    writeFileSync(files().directory.file, older)
    await start()
    expect(server.output.join('\n')).to.include(`it does not know: ${id}.`)
    expect(await found(), 'what it knows is as it was').to.have.length(messages)

    const to = String((await create(server.firstRun.workspace))['secret'])
    const replay = async (workspace: string) => {
      const argv = ['src/main.ts', 'replay', '--workspace', workspace, '--to-url', server.baseUrl]
      return runVerb([...argv, '--data', server.dataFolder], { ...process.env, LOGS_TOKEN: to })
    }
    expect((await replay('w0123456789abcdef')).err).to.include('There is no workspace "w0123456789abcdef"')
    expect((await replay(id)).out).to.include('1 events sent to')
    await untilIndexed(server)
    const reader = await signIn(server.baseUrl, server.firstRun.sign_in)
    const body = await completeAnswerOf(reader, '/api/app/logs/search?service=of-the-lost')
    expect(listOf(body, 'logs').map(({ message }) => message)).to.deep.equal(['kept'])
  })
})
