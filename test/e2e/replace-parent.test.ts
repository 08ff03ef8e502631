import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { open, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect } from 'chai'
import { auditedLog, expectFound, logsPath } from '../support/audit.ts'
import { runProgram } from '../support/run-program.ts'
import { sendOnce, type Post, type Posted } from '../support/sender.ts'
import { newDataFolder, removeFolder, startServer, type Server } from '../support/server.ts'

describe('the parent of the worker', () => {
  let server: Server
  const send = (name: string, until?: Post['until']): Promise<Posted> =>
    sendOnce(server, {
      path: logsPath,
      key: server.firstRun.keys.logs,
      body: auditedLog(name),
      agent: false,
      ...(until === undefined ? {} : { until }),
    })
  /** A request whose body is half sent, and what sends the rest. */
  async function halfSent(name: string): Promise<Readonly<{ answer: Promise<Posted>; finish: () => void }>> {
    const finish = Promise.withResolvers<void>()
    const begun = Promise.withResolvers<void>()
    const answer = send(name, () => {
      begun.resolve()
      return finish.promise
    })
    await begun.promise
    return { answer, finish: finish.resolve }
  }
  const secretsFile = (): string => join(server.dataFolder, 'secrets.json')

  beforeEach(async () => {
    server = await startServer()
  })
  afterEach(async () => {
    await server.kill()
    await removeFolder(server.dataFolder)
  })

  it('answers what is under way when it is told to stop, then refuses, and ends with 0', async () => {
    const { answer, finish } = await halfSent('under way')
    const stopping = server.printed(/^SIGTERM/)
    const stopped = server.stop()
    await stopping
    finish()
    expect((await answer).status).to.equal(200)
    await stopped
    expect(server.process.exitCode).to.equal(0)
    expect(await send('late').catch(String)).to.include('ECONNREFUSED')
  })

  it('refuses, too, when it is told to stop while another worker is being started', async () => {
    await rm(secretsFile())
    execFileSync('mkfifo', [secretsFile()])
    server.process.kill('SIGHUP')
    // It opens as the new worker begins to read, which then waits.
    const pipe = await open(secretsFile(), 'w')
    const { answer, finish } = await halfSent('under way')
    const stopped = server.stop()
    for (let late = 0; ; late++) {
      const outcome = await send(`late ${late}`).catch(String)
      if (String(outcome).includes('ECONNREFUSED')) break
    }
    finish()
    expect((await answer).status).to.equal(200)
    await stopped
    expect(server.process.exitCode).to.equal(0)
    await pipe.close()
  })

  it('takes its worker with it, however it ends', async () => {
    // The worker holds the other end of what the server prints to.
    const gone = once(server.process, 'close')
    server.process.kill('SIGKILL')
    await gone
    expect(await send('late').catch(String)).to.include('ECONNREFUSED')
  })

  it('does not begin while a worker of an earlier one is left, which may still write', async () => {
    const worker = server.workerPid()
    process.kill(worker, 'SIGSTOP')
    const gone = once(server.process, 'close')
    server.process.kill('SIGKILL')
    const outcome = await startServer({ dataFolder: server.dataFolder }).catch(String)
    expect(outcome).to.include('server ended (1)').and.to.include('a worker of a server that was killed')
    process.kill(worker, 'SIGCONT')
    await gone
    const next = await startServer({ dataFolder: server.dataFolder })
    await next.stop()
  })

  it('keeps the worker that it has when the new one cannot start', async () => {
    const secrets = await readFile(secretsFile())
    const worker = server.workerPid()
    await writeFile(secretsFile(), 'damaged')
    const told = server.printed(/secrets\.json/)
    const outcome = await server.replace().catch(String)
    expect(outcome).to.include('was given up').and.to.include(`worker ${worker} goes on`)
    expect(await told).to.include('restore it from a backup')
    expect((await send('served')).status).to.equal(200)
    await writeFile(secretsFile(), secrets)
    await server.replace()
    expect((await send('served again')).status).to.equal(200)
    await expectFound(server, { logs: new Set(['served', 'served again']), spans: new Map() })
  })

  it('lets who connects wait while no worker can start', async () => {
    const secrets = await readFile(secretsFile())
    await writeFile(secretsFile(), 'damaged')
    const from = server.output.length
    process.kill(server.workerPid(), 'SIGKILL')
    await server.printed(/^no new worker could be started/, from)
    const waiting = Array.from({ length: 20 }, (_, index) => send(`waiting ${index}`))
    await server.printed(/^no new worker could be started/)
    await writeFile(secretsFile(), secrets)
    const statuses = (await Promise.all(waiting)).map(({ status }) => status)
    expect(new Set(statuses)).to.deep.equal(new Set([200]))
  })

  it('ends with what the worker says when the first one cannot start', async () => {
    await server.stop()
    await writeFile(secretsFile(), 'damaged')
    const outcome = await startServer({ dataFolder: server.dataFolder }).catch(String)
    expect(outcome).to.include('server ended (1)').and.to.include('restore it from a backup')
    expect(outcome).not.to.include(' at ')
  })

  it('takes KEY_PEPPER for a new data folder, and does not start with another one', async () => {
    const dataFolder = await newDataFolder()
    const environment = { KEY_PEPPER: randomBytes(32).toString('hex') }
    const first = await startServer({ dataFolder, environment })
    await first.stop()
    const secrets = JSON.parse(await readFile(join(dataFolder, 'secrets.json'), 'utf8')) as object
    expect(secrets).to.include({ pepper: environment.KEY_PEPPER })
    const other = { KEY_PEPPER: randomBytes(32).toString('hex') }
    const outcome = await startServer({ dataFolder, environment: other }).catch(String)
    expect(outcome).to.include('server ended (1)').and.to.include('KEY_PEPPER').and.to.include('unset it')
    expect(outcome).not.to.include(' at ')
    const verb = ['src/main.ts', 'workspace', 'list', '--data', dataFolder]
    expect(await runProgram(process.execPath, verb, { environment: other }).catch(String)).to.include('KEY_PEPPER')
    await runProgram(process.execPath, verb, { environment })
    await removeFolder(dataFolder)
  })

  it('leaves a data folder alone that another one holds', async () => {
    const outcome = await startServer({ dataFolder: server.dataFolder }).catch(String)
    expect(outcome).to.include('server ended (1)').and.to.include(`process ${server.process.pid}`)
    expect((await send('served')).status).to.equal(200)
  })

  it('names a port that is taken, and a setting that is wrong', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    const { port } = other.address() as AddressInfo
    const dataFolder = await newDataFolder()
    const taken = await startServer({ dataFolder, port }).catch(String)
    expect(taken).to.include('server ended (1)').and.to.include(`127.0.0.1:${port}`).and.to.include('set PORT')
    other.close()
    const wrong = await startServer({ dataFolder, environment: { TRUSTED_PROXIES: 'many' } }).catch(String)
    expect(wrong).to.include('server ended (2)').and.to.include('TRUSTED_PROXIES')
    await removeFolder(dataFolder)
  })

  it('begins no new installation beside half of one', async () => {
    const dataFolder = await newDataFolder()
    const first = await startServer({ dataFolder })
    const { keys } = first.firstRun
    await first.stop()
    for (const name of ['directory.db', 'log']) {
      await rename(join(dataFolder, name), join(dataFolder, `${name}.away`))
      const outcome = await startServer({ dataFolder }).catch(String)
      expect(outcome)
        .to.include('server ended (1)')
        .and.to.include(`start ${join(dataFolder, name)}`)
      expect(outcome).not.to.include(' at ')
      await rm(join(dataFolder, name), { recursive: true, force: true })
      await rename(join(dataFolder, `${name}.away`), join(dataFolder, name))
    }
    const again = await startServer({ dataFolder })
    expect(again.firstRun.keys).to.deep.equal(keys)
    await again.stop()
    await removeFolder(dataFolder)
  })

  it('names a file that is not what it should be, in one line', async () => {
    const noCertificate = secretsFile()
    for (const file of [noCertificate, join(server.dataFolder, 'nowhere.pem')]) {
      const dataFolder = await newDataFolder()
      const environment = { TLS_CERT: file, TLS_KEY: file }
      const outcome = await startServer({ dataFolder, environment }).catch(String)
      expect(outcome).to.include('server ended (2)').and.to.include('TLS_CERT and TLS_KEY: ')
      expect(outcome).not.to.include(' at ')
      await removeFolder(dataFolder)
    }
    const outcome = await startServer({ dataFolder: join(noCertificate, 'data') }).catch(String)
    expect(outcome).to.include('server ended (1)').and.to.include(`make the data folder ${noCertificate}`)
    expect(outcome).not.to.include(' at ')
  })
})
