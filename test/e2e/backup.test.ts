import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, statSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { cli } from '../support/cli.ts'
import { at, listOf, post, signIn, untilIndexed } from '../support/client.ts'
import { runVerb, type Ran } from '../support/run-program.ts'
import { newDataFolder, removeFolder, startServer, type Server } from '../support/server.ts'

const path = '/api/logs/v1/ingest'
const json = { 'content-type': 'application/json' }

/** A verb on a data folder, which may fail. */
const tried = (dataFolder: string, ...args: readonly string[]): Promise<Ran> =>
  runVerb(['src/main.ts', ...args, '--data', dataFolder])

describe('throughline backup', () => {
  let server: Server
  let folder: string
  before(async () => {
    server = await startServer()
    folder = `${await newDataFolder()}/backup`
  })
  after(async () => {
    await server.stop()
    await removeFolder(server.dataFolder)
    await removeFolder(join(folder, '..'))
  })

  const send = async (message: string): Promise<void> => {
    const answer = await post(server, path, server.firstRun.keys.logs, JSON.stringify({ message }), json)
    expect(answer.status).to.equal(200)
  }

  it('copies all that was acknowledged before it, beside a server that goes on', async () => {
    for (let n = 0; n < 50; n++) await send(`before ${n}`)
    const done = new AbortController()
    const later = async (): Promise<number> => {
      let sent = 0
      while (!done.signal.aborted) await send(`later ${sent++}`)
      return sent
    }
    const sending = later()
    const told = (await cli(server, 'backup', '--to', `${folder}/`)) as { log: { position: number } }
    done.abort()
    expect(await sending, 'sent meanwhile').to.be.above(0)
    expect(told.log.position).to.be.above(0)
    expect(readdirSync(folder).sort()).to.deep.equal([
      'directory.db',
      'directory.db.copied',
      'first-run.json',
      'log',
      'secrets.json',
    ])
    expect(statSync(folder).mode & 0o77, 'for its owner alone').to.equal(0)

    // Somebody follows, and has seen what the copy does not hold.
    await send('not in the copy')
    await untilIndexed(server)
    const follow = '/api/app/logs/search?q=after'
    const { body: seen } = await (await signIn(server.baseUrl, server.firstRun.sign_in)).get(follow)

    const restored = await startServer({ dataFolder: folder })
    try {
      await untilIndexed(restored)
      const reader = await signIn(restored.baseUrl, server.firstRun.sign_in)
      const { body: anew } = await reader.get(`${follow}&cursor=${String(seen['prev_cursor'])}`)
      expect([anew['logs'], at(anew, 'query', 'warnings')]).to.deep.equal([
        [],
        ['This cursor is of a log that went further than the one that is here. It is followed anew, from its end.'],
      ])
      const { body } = await reader.get('/api/app/logs/search?q=before&limit=100')
      const found = listOf(body as never, 'logs').map((log) => String(at(log as never, 'message')))
      expect(new Set(found)).to.deep.equal(new Set(Array.from({ length: 50 }, (_, n) => `before ${n}`)))
      expect(found).to.have.length(50)
      expect((await post(restored, path, server.firstRun.keys.logs, '{"message":"after"}', json)).status).to.equal(200)
      await untilIndexed(restored)
      const { body: followed } = await reader.get(`${follow}&cursor=${String(anew['prev_cursor'])}`)
      expect(listOf(followed, 'logs').map(({ message }) => message)).to.deep.equal(['after'])
      expect(at(followed, 'query', 'warnings')).to.deep.equal([])
      const verdict = await tried(folder, 'verify', 'all')
      expect(verdict.code, verdict.out + verdict.err).to.equal(0)
    } finally {
      await restored.stop()
    }
  })

  it('is refused to another user than the one whose files these are, as every verb is', async () => {
    const as = (uid: number) => ['--import', `data:text/javascript,process.geteuid = () => ${uid}`]
    const other = (process.geteuid?.() ?? 0) + 1
    const argv = ['src/main.ts', 'rebuild', 'all', '--data', server.dataFolder]
    const { code, err } = await runVerb([...as(other), ...argv])
    const owner = other - 1
    expect([code, err]).to.deep.equal([
      1,
      `throughline: open the data folder ${server.dataFolder}: it belongs to the user with the id ${owner}, not to ${other} ` +
        `(run this as that user: sudo -u '#${owner}' …)\n`,
    ])
  })

  it('puts nothing where something is, or is being made', async () => {
    const other = join(folder, '..', 'other')
    mkdirSync(`${other}.making`)
    for (const [to, place, hint] of [
      [folder, folder, 'it is there already: name a folder that is not'],
      [
        other,
        `${other}.making`,
        `a backup is being made there; if none is, one was broken off: rm -r ${other}.making, and run this again`,
      ],
    ] as const) {
      const { code, err } = await tried(server.dataFolder, 'backup', '--to', to)
      expect([code, err]).to.deep.equal([1, `throughline: back up ${place} (${hint})\n`])
    }
    expect([existsSync(other), existsSync(`${other}.making`)]).to.deep.equal([false, true])
  })

  it('leaves, where it is killed, what no server starts on as if it were all, and no verb opens', async () => {
    const to = join(folder, '..', 'killed')
    const killed = `data:text/javascript,import fs from 'node:fs';import{syncBuiltinESMExports as sync}from'node:module';fs.copyFileSync=()=>process.kill(process.pid,'SIGKILL');sync()`
    const argv = ['src/main.ts', 'backup', '--to', to, '--data', server.dataFolder]
    expect((await runVerb(['--import', killed, ...argv])).code).to.equal(null)
    const dataFolder = `${to}.making`
    expect(readdirSync(dataFolder)).to.include.members(['backup.unfinished', 'directory.db', 'log'])
    const hint =
      `the data folder ${dataFolder} (it is a backup that was not finished, and may lack anything: take another one; or, to go on with what is ` +
      `in this one, and to begin anew where that is nothing, remove ${join(dataFolder, 'backup.unfinished')})`
    expect(await startServer({ dataFolder, form: 'embedded' }).catch(String)).to.include(`start ${hint}`)
    for (const verb of [['status'], ['workspace', 'list']]) {
      const { code, err } = await tried(dataFolder, ...verb)
      expect([code, err]).to.deep.equal([1, `throughline: open ${hint}\n`])
    }
    expect(existsSync(join(dataFolder, 'first-run.json'))).to.equal(false)
  })

  it('is refused at once where the folder cannot be made', async () => {
    // On Linux also where Node's own mkdir tries for ever.
    for (const to of [join(folder, 'secrets.json', 'x'), '/proc/throughline/x']) {
      const { code, err } = await tried(server.dataFolder, 'backup', '--to', to)
      expect([code, err.split(':', 2)[1]], err).to.deep.equal([1, ` back up ${to}.making`])
      expect(err).to.include('(this user must be able to make it; or name another folder)\n')
    }
  })

  it('prints a command that a shell takes as it is, whatever the folder is called', async () => {
    for (const name of [`o'clock copy`, 'plain']) {
      const to = join(folder, '..', name)
      const { out } = await tried(server.dataFolder, 'backup', '--to', to)
      const command = /^To go back to it: (.*) npm start$/m.exec(out)?.[1] ?? ''
      expect(execFileSync('sh', ['-c', `${command} printenv THROUGHLINE_DATA`], { encoding: 'utf8' })).to.equal(
        `${to}\n`,
      )
    }
  })

  it('says that the log is damaged instead of keeping such a copy', async () => {
    const damaged = join(folder, '..', 'damaged')
    const file = join(folder, 'log', '0.db')
    const handle = await open(file, 'r+')
    await handle.write(Buffer.alloc(2_000, 0xa5), 0, 2_000, statSync(file).size - 6_000)
    await handle.close()
    const { code, err } = await tried(folder, 'backup', '--to', damaged)
    expect([code, err.includes('stop the server and start it again')], err).to.deep.equal([1, true])
    expect([existsSync(damaged), existsSync(`${damaged}.making`)]).to.deep.equal([false, false])
  })
})
