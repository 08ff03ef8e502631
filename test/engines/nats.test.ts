import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout } from 'node:timers/promises'
import { expect } from 'chai'
import { connect, RetentionPolicy, StorageType, NatsError, type NatsConnection } from 'nats'
import type { Engine } from '../../infra/engines/engine.ts'
import { startNats, startNatsCluster, type NatsCluster } from '../../infra/engines/nats.ts'
import { enginesTimeoutMs } from '#test/support/engines.ts'
import { failureOf } from './failure-of.ts'

/** The client takes addresses without credentials. */
function connectTo(url: string, options: Readonly<{ pass?: string }> = {}): Promise<NatsConnection> {
  const urls = url.split(',').map((each) => new URL(each))
  const servers = urls.map(({ host }) => host)
  return connect({ servers, user: urls[0]?.username ?? '', pass: options.pass ?? urls[0]?.password ?? '' })
}

/** Asks again while the nodes choose leaders. */
async function patiently<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
  for (;;) {
    try {
      return await ask()
    } catch (failure) {
      if (!(failure instanceof NatsError)) throw failure
      await setTimeout(50)
    }
  }
}

const store = async (connection: NatsConnection, replicas: number, bodies: readonly string[]): Promise<void> => {
  const manager = await connection.jetstreamManager()
  const storage = { retention: RetentionPolicy.Limits, storage: StorageType.File, num_replicas: replicas }
  await manager.streams.add({ name: 'KEPT', subjects: ['kept'], ...storage })
  // Of several nodes none may lead the stream yet. By its id a body is stored once, however often it is sent.
  for (const body of bodies) await patiently(() => connection.jetstream().publish('kept', body, { msgID: body }))
}

const stored = async (connection: NatsConnection): Promise<string[]> => {
  const manager = await connection.jetstreamManager()
  const { state } = await manager.streams.info('KEPT')
  const bodies: string[] = []
  for (let seq = state.first_seq; seq <= state.last_seq; seq++) {
    bodies.push((await manager.streams.getMessage('KEPT', { seq })).string())
  }
  return bodies
}

describe('the NATS server that we bring', () => {
  let nats: Engine
  before(async function () {
    this.timeout(enginesTimeoutMs)
    nats = await startNats()
  })
  after(() => nats.remove())

  it('is the pinned version, takes 8 MiB a message and syncs each before it answers', async () => {
    const connection = await connectTo(nats.url)
    expect(connection.info).to.include({ version: '2.15.2', max_payload: 8 * 1024 * 1024, jetstream: true })
    await connection.close()
    const figures = await fetch(new URL('/varz', nats.healthUrl))
    const { jetstream } = (await figures.json()) as { jetstream: { config: object } }
    expect(jetstream.config).to.include({ sync_always: true })
  })

  it('refuses a wrong password', async () => {
    expect(await failureOf(connectTo(nats.url, { pass: 'wrong' }))).to.match(/authorization violation/i)
  })

  it('keeps its data and its address when it is killed and started again', async () => {
    const first = await connectTo(nats.url)
    await store(first, 1, ['a', 'b'])
    await first.close()
    await nats.kill()
    expect(nats.group()).to.equal(undefined)
    expect(await failureOf(connectTo(nats.url))).to.match(/refused/i)
    await nats.start()
    await nats.stop()
    await nats.start()
    const second = await connectTo(nats.url)
    expect(await stored(second)).to.deep.equal(['a', 'b'])
    await second.close()
  })

  it('ends, and its data with it, when the process that started it is killed', async () => {
    const temporary = mkdtempSync(join(tmpdir(), 'throughline-orphan-'))
    const program = join(import.meta.dirname, 'start-nats-child.ts')
    const child = spawn(process.execPath, [program], {
      env: { ...process.env, TMPDIR: temporary },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const [url] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
    await (await connectTo(url)).close()
    expect(readdirSync(temporary)).to.have.length(1)
    child.kill('SIGKILL')
    while (readdirSync(temporary).length > 0) await setTimeout(20)
    let failure = await failureOf(connectTo(url))
    // The system may not yet have ended it wholly: what it had accepted is reset then.
    while (/ECONNRESET/.test(failure)) failure = await failureOf(connectTo(url))
    expect(failure).to.match(/refused/i)
    rmSync(temporary, { recursive: true })
  })
})

describe('the three NATS servers that we bring', () => {
  let cluster: NatsCluster
  before(async function () {
    this.timeout(enginesTimeoutMs)
    cluster = await startNatsCluster(3)
  })
  after(() => cluster.remove())

  it('keep what they acknowledged when the leader of a stream is killed, and take it back', async () => {
    const connection = await connectTo(cluster.url)
    await store(connection, 3, ['a'])
    const leader = (await (await connection.jetstreamManager()).streams.info('KEPT')).cluster?.leader
    await connection.close()
    const lost = cluster.nodes[Number(leader?.split('-')[1])]
    await lost?.kill()
    const others = cluster.nodes.filter((node) => node !== lost).map(({ url }) => url)
    expect(others).to.have.length(2)
    const survivor = await connectTo(others.join(','))
    expect(await patiently(() => stored(survivor))).to.deep.equal(['a'])
    await survivor.close()
    await lost?.start()
    expect(lost?.group()).to.be.a('number')
  })
})
