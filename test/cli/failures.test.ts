import { spawn, spawnSync, type StdioOptions } from 'node:child_process'
import { once } from 'node:events'
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { watch } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect } from 'chai'
import { createEventFile } from '#src/cli/replay-file.ts'
import { foldersOf } from '#src/compose/folders.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import { TransientError } from '#src/lib/failure.ts'
import { createMemoryStream } from '#streams/memory/stream.ts'
import type { Stream } from '#streams/stream.ts'
import { makeEvent, makeLarge, makeLine } from '../support/make-event.ts'
import { openLog, writeLog } from '../compose/written-folder.ts'
import { fillSmall, sampleOf } from '../streams/damaged-log.ts'
import { createServices, useInstallation } from './harness.ts'

describe('command line, where something is wrong', () => {
  const { dataFolder, run } = useInstallation()

  type Ways = Readonly<{ stdio?: StdioOptions; fileBlocksMax?: number; folder?: string }>
  /** The program itself on the data folder: its exit code, and what it prints. */
  function runMain(words: string, { stdio = 'pipe', fileBlocksMax, folder = dataFolder() }: Ways = {}) {
    const limit = fileBlocksMax === undefined ? '' : `ulimit -f ${fileBlocksMax}; `
    const argv = ['src/main.ts', ...words.split(' '), ...(folder === '' ? [] : ['--data', folder])]
    const shell = ['-c', `${limit}exec "$0" "$@"`, process.execPath, ...argv]
    const { status, stdout, stderr } = spawnSync('/bin/sh', shell, { encoding: 'utf8', stdio })
    return { status, stdout, stderr }
  }
  const logFile = (): string => foldersOf(dataFolder()).log.file
  const secretsFile = (): string => join(dataFolder(), 'secrets.json')
  const copy = (): string => `${dataFolder()}.copy`
  afterEach(() => rmSync(copy(), { recursive: true, force: true }))

  it('takes no log that is gone for one that has not been made', () => {
    for (const verb of ['status', 'builds', 'verify all', 'rebuild logs', 'replay', `backup --to ${copy()}`]) {
      const { status, stdout, stderr } = runMain(verb)
      expect(stderr, verb).to.equal(
        `throughline: open ${logFile()} (it is gone, and the directory of its workspaces is there: put it back from a backup)\n`,
      )
      expect([status, stdout], verb).to.deep.equal([verb === 'verify all' ? 2 : 1, ''])
    }
    expect(runMain('workspace list').status, 'what needs none').to.equal(0)
  }).timeout(300_000)

  it('leaves a log alone whose WAL is damaged, or which is being set aside: a start saves what SQLite would ignore', async () => {
    const { db, wal } = await sampleOf(fillSmall, { isKilled: true, checkpointBytes: 10_000_000 })
    const damaged = Buffer.from(wal)
    const middle = Math.floor(damaged.length / 2)
    damaged.writeUInt8(damaged.readUInt8(middle) ^ 1, middle)
    const { log, logFolder, directory } = foldersOf(copy())
    mkdirSync(logFolder, { recursive: true })
    for (const { file } of [log, directory]) writeFileSync(file, db)
    for (const { file } of [log, directory]) {
      writeFileSync(`${file}-wal`, damaged)
      for (const verb of ['status', 'workspace list', `backup --to ${copy()}/copy`]) {
        const { status, stderr } = runMain(verb, { folder: copy() })
        expect(stderr, verb).to.include(`open ${file} (`).and.include('start the server first')
        expect(status, verb).to.equal(1)
      }
      const moved = runMain(`move-log --from ${copy()} --to nats://127.0.0.1:1`, { folder: '' })
      expect(moved.stderr).to.match(/^throughline: move .*: start the server first/)
      expect(readFileSync(`${file}-wal`).equals(damaged), 'the WAL is as it was').to.equal(true)
      rmSync(`${file}-wal`)
      writeFileSync(`${file}.moving`, 'quarantine\n')
      expect(runMain('status', { folder: copy() }).stderr).to.include('it was damaged, and is being set aside')
      rmSync(`${file}.moving`)
    }
  }).timeout(300_000)

  it('says what is made of a secret that could be shown to nobody', async () => {
    await run(['workspace', 'create', 'acme'])
    const full = openSync('/dev/full', 'w')
    const ways = [
      [
        'key create --workspace acme --kind logs',
        /the key (k\w+) is made and its secret lost: throughline key revoke \1, and make another/,
      ],
      [
        'user create ann@acme.example --workspace acme',
        /the new password is lost: throughline user password ann@acme.example makes another/,
      ],
    ] as const
    for (const [words, line] of ways) {
      const { status, stderr } = runMain(words, { stdio: ['ignore', full, 'pipe'] })
      expect([status, stderr.trimEnd().split('\n').length]).to.deep.equal([1, 1])
      expect(stderr).to.match(line)
    }
    closeSync(full)
  })

  it('keeps no backup that nothing could be started on', async () => {
    await writeLog('0', logFile(), 1)
    const within = runMain(`backup --to ${join(dataFolder(), 'index')}`)
    expect([within.status, within.stderr]).to.deep.equal([
      1,
      `throughline: back up ${join(dataFolder(), 'index')} (it lies in the data folder, and would be lost with it: name another)\n`,
    ])
    const whole = readFileSync(secretsFile())
    for (const damage of [() => truncateSync(secretsFile()), () => rmSync(secretsFile())]) {
      damage()
      const { status, stderr } = runMain(`backup --to ${copy()}`)
      expect([status, existsSync(copy())]).to.deep.equal([1, false])
      expect(stderr).to.match(/^throughline: read secrets .*restore it from a backup\)\n$/)
    }
    writeFileSync(secretsFile(), whole)
    expect(runMain(`backup --to ${copy()}`).status).to.equal(0)
  }).timeout(300_000)

  it('says so where an answer cannot be written', () => {
    const closed = openSync(secretsFile(), 'r')
    const { status, stderr } = runMain('workspace list', { stdio: ['ignore', closed, 'pipe'] })
    closeSync(closed)
    expect([status, stderr]).to.deep.equal([
      1,
      'throughline: the answer could not be written: EBADF: bad file descriptor, write\n',
    ])
  })

  it('takes no answer that cannot be written for a difference', async () => {
    await writeLog('0', logFile(), 0)
    const closed = openSync(secretsFile(), 'r')
    const { status, stderr } = runMain('verify all', { stdio: ['ignore', closed, 'pipe'] })
    closeSync(closed)
    expect(stderr.trimEnd().split('\n').at(-1)).to.match(/^throughline: the answer could not be written: /)
    expect(status).to.equal(2)
  })

  it('goes on with a rebuild whose progress nobody reads any more', async () => {
    await writeLog('0', logFile(), 3)
    const argv = ['src/main.ts', 'rebuild', 'logs', '--json', '--data', dataFolder()]
    const child = spawn(process.execPath, argv, { stdio: ['ignore', 'pipe', 'inherit'] })
    child.stdout.destroy()
    expect((await once(child, 'exit'))[0]).to.equal(0)
    const { builds } = JSON.parse(runMain('builds --json').stdout) as { builds: Record<string, unknown>[] }
    expect(builds.map(({ state }) => state)).to.deep.equal(['live'])
  }).timeout(300_000)

  it('says in one line where it cannot make the files that an index is compared with', async () => {
    await writeLog('0', logFile(), 3)
    expect(runMain('rebuild logs').status).to.equal(0)
    const scratch = join(dataFolder(), 'scratch')
    rmSync(scratch, { recursive: true })
    writeFileSync(scratch, '')
    for (const verb of ['verify logs', 'rebuild logs']) {
      const { status, stderr } = runMain(verb)
      expect(stderr, verb).to.match(/^throughline: make a folder in \S+\/scratch: ENOTDIR.*\(.*--data\)$/m)
      expect(stderr, verb).to.not.match(/^ +at /m)
      expect(status, verb).to.equal(verb === 'verify logs' ? 2 : 1)
    }
  }).timeout(300_000)

  it('leaves no half of a file of events', async () => {
    await writeLog('0', logFile(), 0)
    const log = await openLog('0', logFile())
    for (const name of ['a', 'b', 'c']) await log.append([makeLarge(name, 100_000)])
    await log.close()
    const { status, stderr } = runMain(`replay --out ${copy()}`, { fileBlocksMax: 256 })
    expect(stderr).to.match(
      /^throughline: write events to .*: EFBIG: .*\(it must have room for them; what was written is removed\)\n$/,
    )
    expect([status, existsSync(copy())]).to.deep.equal([1, false])
    expect(runMain(`replay --out ${copy()}`).status).to.equal(0)
  }).timeout(300_000)

  it('leaves none of it where it is broken off by a signal, of which it ends', async () => {
    const [from, out] = [join(dataFolder(), 'never-written'), join(dataFolder(), 'events')]
    spawnSync('mkfifo', [from])
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      const changes = watch(dataFolder())
      const child = spawn(process.execPath, ['src/main.ts', 'replay', '--in', from, '--out', out], { stdio: 'inherit' })
      const ended = once(child, 'exit')
      for await (const { filename } of changes)
        if (filename === 'events' && (statSync(out, { throwIfNoEntry: false })?.size ?? 0) > 0) break
      child.kill(signal)
      expect(await ended).to.deep.equal([null, signal])
      expect(existsSync(out), signal).to.equal(false)
    }
  }).timeout(300_000)

  it('leaves none of it either where the log cannot be read to its end, or a file has nothing of the workspace', async () => {
    const log = createMemoryStream({ partition: '0' })
    await log.append([makeEvent('a'), makeEvent('b')])
    const broken: Stream = {
      ...log,
      read: async (after) => {
        if (after > 0) throw new TransientError({ operation: 'read', subject: 'the log', hint: 'gone' })
        return log.read(after, 1)
      },
    }
    const services = { ...createServices(), openLogs: async () => [broken] }
    const cut = await run(['replay', '--out', copy()], { services })
    expect([cut.code, cut.err, existsSync(copy())]).to.deep.equal([1, 'throughline: read the log (gone)\n', false])
    const file = await createEventFile(`${copy()}.in`)
    await file.add({
      partition: '0',
      event: { ...makeEvent('a'), workspaceId: workspaceIdOf('w0123456789abcdef'), position: 1 },
    })
    await file.end()
    const other = ['--in', `${copy()}.in`, '--workspace', 'wfedcba9876543210', '--out', copy()]
    const none = await run(['replay', ...other])
    rmSync(`${copy()}.in`)
    expect(none.err).to.include('The file has no event of wfedcba9876543210.')
    expect([none.code, existsSync(copy())]).to.deep.equal([1, false])
  })

  it('ends as it would, where nobody reads how many records were refused', async () => {
    const refusing = createServer((request, response) => {
      request.resume()
      response.end('{"accepted":0,"rejected":1}')
    })
    await once(refusing.listen(0, '127.0.0.1'), 'listening')
    const workspace = 'w0123456789abcdef'
    const file = await createEventFile(copy())
    await file.add({ partition: '0', event: { ...makeLine('a', workspace), position: 1 } })
    await file.end()
    const to = ['--to-url', `http://127.0.0.1:${(refusing.address() as AddressInfo).port}`, '--workspace', workspace]
    const env = { ...process.env, LOGS_TOKEN: 'lt_x' }
    const argv = ['src/main.ts', 'replay', '--in', copy(), ...to]
    const child = spawn(process.execPath, argv, { env, stdio: ['ignore', 'pipe', 'inherit'] })
    child.stdout.destroy()
    expect((await once(child, 'exit'))[0]).to.equal(1)
    refusing.close()
  })

  it('lists builds and drops one where no file can grow: that is how a full disk gets its room back', async () => {
    await writeLog('0', logFile(), 3)
    for (const _ of [1, 2]) expect(runMain('rebuild logs').status).to.equal(0)
    const rosters = join(foldersOf(dataFolder()).indexFolder, 'live.db')
    // As a running server keeps them open.
    const open = [rosters, logFile(), join(dataFolder(), 'directory.db')].map((file) => new DatabaseSync(file))
    try {
      for (const database of open) database.exec('SELECT count(*) FROM sqlite_schema')
      expect(runMain('rebuild logs').status).to.equal(0)
      const builds = () => {
        const { status, stdout, stderr } = runMain('builds --json', { fileBlocksMax: 0 })
        expect([status, stderr]).to.deep.equal([0, ''])
        return (JSON.parse(stdout) as { builds: { build: string; state: string }[] }).builds
      }
      const named = (wanted: string) => builds().find(({ state }) => state === wanted)?.build
      const kept = named('kept')
      expect(runMain(`drop ${named('live')}`, { fileBlocksMax: 0 }).stderr).to.include('readers use it')
      const sizes = [rosters, `${rosters}-wal`].map((file) => statSync(file).size)
      const fileBlocksMax = Math.ceil(Math.max(...sizes) / 512)
      const { status, stderr } = runMain(`drop ${kept}`, { fileBlocksMax })
      expect([status, stderr]).to.deep.equal([0, ''])
      expect(builds().map(({ build }) => build)).not.to.include(kept)
    } finally {
      for (const database of open) database.close()
    }
  }).timeout(300_000)

  it('says in one line that the disk is full where nobody else has opened a log, and its opening makes files beside it', async () => {
    await writeLog('0', logFile(), 1)
    for (const words of ['builds', '--port 0']) {
      const { status, stderr } = runMain(words, { fileBlocksMax: 1 })
      expect(stderr, words).to.match(
        /^throughline: (?:open|look at) log \S+: .*\(the disk is full: free some space\)\n$/,
      )
      expect(status, words).to.equal(1)
    }
  }).timeout(300_000)

  it('tells in one line of indexes that cannot be made', async () => {
    await writeLog('0', logFile(), 1)
    symlinkSync(join(dataFolder(), 'nowhere', 'index'), foldersOf(dataFolder()).indexFolder)
    const { status, stderr } = runMain('builds')
    expect(stderr).to.match(/^throughline: make the folder .*\(the folder above it must be there, .*\)\n$/)
    expect(status).to.equal(1)
  })

  it('ends where the log of the directory cannot be read, instead of waiting for it for ever', async () => {
    const cause = new TransientError({ operation: 'read', subject: 'the directory', hint: 'gone' })
    const stream: Stream = { ...createMemoryStream({ partition: 'directory' }), read: () => Promise.reject(cause) }
    const services = { ...createServices(), openDirectory: async () => ({ stream, pepper: 'p'.repeat(64) }) }
    const { code, out, err } = await run(['workspace', 'list'], { services })
    expect([code, out, err]).to.deep.equal([1, '', 'throughline: read the directory (gone)\n'])
  })

  it('says of no failure that an index differs', async () => {
    const services = { ...createServices(), openBuilds: () => Promise.reject(new TypeError('odd')) }
    const { code, out, err } = await run(['verify', 'all'], { services })
    expect([code, out, err.split('\n', 1)[0]]).to.deep.equal([2, '', 'throughline: TypeError: odd'])
  })
})
