import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { expect } from 'chai'
import { PermanentError, TransientError } from '#src/lib/failure.ts'
import { connectNats } from '#streams/jetstream/connect.ts'
import type { Nats } from '#streams/jetstream/nats.ts'
import { provisionLogs, type ProvisionOptions } from '#streams/jetstream/provision.ts'
import { streamInfo } from '#streams/jetstream/stream-state.ts'
import { configOf, type StreamConfig } from '#streams/jetstream/stream-config.ts'
import { openJetStream } from '#streams/jetstream/stream.ts'
import { logName } from '#streams/jetstream/subjects.ts'
import { limits } from '#src/config.ts'
import { enginesTimeoutMs, natsEngine } from '#test/support/engines.ts'
import { freePort } from '#test/support/free-port.ts'
import { lineEvent } from '#test/support/line-projections.ts'
import { askServer, newEpoch, newPrefix, removeLogs, testProvision } from './jetstream-log.ts'
import { startPlainNats } from './plain-nats.ts'
import { rejection } from '../support/read-all.ts'

describe('connecting to NATS', function () {
  before(async function () {
    this.timeout(enginesTimeoutMs)
    await natsEngine()
  })

  const failing = async (url: string): Promise<Error> => {
    const failure = await rejection(connectNats({ url }))
    expect(failure.message, 'one line').not.to.include('\n')
    return failure
  }

  it('says that the credentials are wrong, whatever is wrong with them, and does not show them', async () => {
    const { host } = new URL(await natsEngine())
    for (const credentials of ['throughline:secret@', 'nobody:secret@', 'secret@', '']) {
      const failure = await failing(`nats://${credentials}${host}`)
      expect(failure).to.be.instanceOf(PermanentError)
      expect(failure.message)
        .to.match(/refuses the user, password or token of NATS_URL/)
        .and.not.to.include('secret')
    }
  })

  it('says that nobody is there', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    server.close()
    const failure = await failing(`nats://user:secret@127.0.0.1:${port}`)
    expect(failure).to.be.instanceOf(TransientError)
    expect(failure.message)
      .to.match(/is nats-server running there/)
      .and.not.to.include('secret')
  })

  it('lets go of a server that hangs', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    const connected = once(server, 'connection') as Promise<[Socket]>
    await once(server, 'listening')
    const url = `nats://user:secret@127.0.0.1:${(server.address() as AddressInfo).port}`
    expect((await rejection(connectNats({ url, greetingMs: 50 }))).message).to.match(/TIMEOUT .*is nats-server running/)
    const [socket] = await connected
    if (!socket.resume().readableEnded) await once(socket, 'end')
    server.close()
  })

  it('goes on soon to the next of several servers that hang', async function () {
    // For the two of them; one that is the only one may take 20 s.
    this.timeout(30_000)
    const hanging = [createServer().listen(0, '127.0.0.1'), createServer().listen(0, '127.0.0.1')]
    await Promise.all(hanging.map((server) => once(server, 'listening')))
    const url = hanging.map((server) => `nats://127.0.0.1:${(server.address() as AddressInfo).port}`).join(',')
    expect((await rejection(connectNats({ url }))).message).to.match(/TIMEOUT .*is nats-server running/)
    for (const server of hanging) server.close()
  })

  // An old server cannot be brought here: this one says no more than it needs to be known.
  for (const [version, taken] of [
    ['2.11.9', false],
    ['1.4.0', false],
    ['2.12.0', true],
    ['3.0.0', true],
  ] as const) {
    it(`${taken ? 'takes' : 'refuses'} nats-server ${version}`, async () => {
      const server = createServer((socket) => {
        const info = { server_id: 'X', version, proto: 1, max_payload: 1_048_576, headers: true }
        socket.write(`INFO ${JSON.stringify(info)}\r\n`)
        socket.on('data', (data) => data.includes('PING') && socket.write('PONG\r\n'))
      }).listen(0, '127.0.0.1')
      await once(server, 'listening')
      const url = `nats://127.0.0.1:${(server.address() as AddressInfo).port}`
      if (taken) await (await connectNats({ url })).close()
      else expect((await failing(url)).message).to.include(`it is nats-server ${version}; 2.12 or newer is needed`)
      server.close()
    })
  }

  it('says how many streams an account must allow', async () => {
    const account = 'T { users: [{ user: t, password: secret }], jetstream: { max_streams: 2 } }'
    const server = await startPlainNats(`jetstream { store_dir: $FOLDER }\naccounts { ${account} }`)
    const nats = await connectNats({ url: server.url.replace('//', '//t:secret@') })
    const failure = await rejection(provisionLogs(nats, { ...testProvision, partitions: 2 }))
    expect(failure).to.be.instanceOf(PermanentError)
    expect(failure.message).to.match(/maximum number of streams reached .*raise max_streams of its account/)
    await nats.close()
    await server.remove()
  })

  it('refuses a server whose messages hold no event, and tells of one whose messages hold no large one', async () => {
    const server = await startPlainNats('max_payload: 4096')
    const nats = await connectNats({ url: server.url })
    const failure = await rejection(provisionLogs(nats, testProvision))
    expect(failure).to.be.instanceOf(PermanentError)
    expect(failure.message).to.match(/at most 4096 bytes .*max_payload: 65536 at least/)
    const told: string[] = []
    const wider = { ...nats, payloadBytesMax: () => 16_384 }
    await rejection(provisionLogs(wider, { ...testProvision, warn: (line) => told.push(line) }))
    expect(told.join()).to.match(/^large requests will be refused: .*at most 16384 bytes/)
    await nats.close()
    await server.remove()
  })

  it('says that JetStream is off', async () => {
    const server = await startPlainNats('')
    const nats = await connectNats({ url: server.url })
    const failure = await rejection(provisionLogs(nats, testProvision))
    expect(failure).to.be.instanceOf(PermanentError)
    expect(failure.message).to.match(/JetStream is off/)
    await nats.close()
    await server.remove()
  })
})

describe('provisioning the logs', function () {
  let nats: Nats
  let prefix: string
  before(async function () {
    this.timeout(enginesTimeoutMs)
    await natsEngine()
  })
  beforeEach(async () => {
    nats = await connectNats({ url: await natsEngine() })
    prefix = newPrefix()
  })
  afterEach(async () => {
    await removeLogs(nats, prefix, 3)
    await nats.close()
  })

  const provision = (options: Partial<ProvisionOptions> = {}): Promise<void> =>
    provisionLogs(nats, { ...testProvision, ...options, prefix })
  const configuration = async (partition = '0'): Promise<StreamConfig | undefined> =>
    (await streamInfo(nats, logName(partition, prefix).stream))?.config

  it('makes a stream for each partition and one for the directory, and leaves them as they are the next time', async () => {
    await provision({ partitions: 3 })
    const first = await Promise.all(['0', '1', '2', 'directory'].map(configuration))
    await provision({ partitions: 3 })
    expect(await Promise.all(['0', '1', '2', 'directory'].map(configuration))).to.deep.equal(first)
    expect(new Set(first.map((config) => config?.metadata['epoch'])).size).to.equal(4)
    expect(first[1]).to.deep.include({
      storage: 'file',
      discard: 'new',
      deny_delete: true,
      max_age: 0,
      num_replicas: 1,
      // An hour, in ns.
      duplicate_window: 3_600_000_000_000,
    })
  })

  it('gives all of several processes that start at once the same logs', async () => {
    const connections = await Promise.all(
      Array.from({ length: 5 }, async () => connectNats({ url: await natsEngine() })),
    )
    await Promise.all(connections.map((each) => provisionLogs(each, { ...testProvision, partitions: 3, prefix })))
    for (const partition of ['0', '1', '2', 'directory']) {
      const streams = await Promise.all(connections.map((each) => openJetStream(each, { partition, prefix, limits })))
      expect(new Set(streams.map(({ epoch }) => epoch)).size).to.equal(1)
    }
    await Promise.all(connections.map((each) => each.close()))
  })

  it('gives them to all where the server has room for these logs alone', async () => {
    // The partition's and the directory's, but no partition's twice.
    const server = await startPlainNats('jetstream { store_dir: $FOLDER, max_file_store: 6GB }')
    const bytesMax = 4 * 1024 ** 3
    const connections = await Promise.all(Array.from({ length: 5 }, () => connectNats({ url: server.url })))
    await Promise.all(connections.map((each) => provisionLogs(each, { ...testProvision, bytesMax, prefix })))
    await Promise.all(connections.map((each) => each.close()))
    await server.remove()
  })

  const lost = { 'a partition': '1', 'the directory': 'directory' } as const
  for (const [what, partition] of Object.entries(lost)) {
    it(`does not make the log of ${what} anew where it is gone, unless it may`, async () => {
      await provision({ partitions: 2 })
      const { stream } = logName(partition, prefix)
      const other = await openJetStream(nats, { partition: '0', prefix, limits })
      await other.append([lineEvent(1, ['x'])])
      await other.close()
      await askServer(nats, `STREAM.DELETE.${stream}`)
      const failure = await rejection(provision({ partitions: 2 }))
      expect(failure).to.be.instanceOf(PermanentError)
      expect(failure.message)
        .to.include(stream)
        .and.to.match(/it is gone.*ALLOW_LOST_LOG=1/)
      expect(await configuration(partition)).to.equal(undefined)
      const told: string[] = []
      const again = { partitions: 2, allowLostLog: true, warn: (line: string) => told.push(line) }
      await provision(again)
      expect(await configuration(partition)).not.to.equal(undefined)
      expect(told.join('\n')).to.match(
        new RegExp(`^stream ${stream} was gone and is made anew, empty: .*ALLOW_LOST_LOG`),
      )
      await provision(again)
      expect(told, 'once it is there').to.have.length(1)
    })
  }

  it('takes a log that was cut for the one that it has made', async () => {
    await provision({ partitions: 2 })
    const log = await openJetStream(nats, { partition: '0', prefix, limits })
    for (const n of [1, 2]) await log.append([lineEvent(n, ['x'])])
    await log.cut(await log.head())
    await provision({ partitions: 2 })
    expect(await log.first()).to.include({ isCut: true })
    await log.close()
  })

  it('does not take a log for gone that another process has made since it was looked for', async () => {
    await provision({ partitions: 2 })
    const before = await configuration('0')
    const look = `$JS.API.STREAM.INFO.${logName('0', prefix).stream}`
    let looks = 0
    const request: Nats['request'] = async (subject, ...given) => {
      const isFirst = subject === look && ++looks === 1
      return nats.request(isFirst ? subject.replace(prefix, `${prefix}-none`) : subject, ...given)
    }
    await provisionLogs({ ...nats, request }, { ...testProvision, partitions: 2, prefix })
    expect(looks).to.be.greaterThan(1)
    expect(await configuration('0')).to.deep.equal(before)
  })

  it('makes none where none is there, though the installation is known to have had them, unless it may', async () => {
    const isKnown = async (): Promise<boolean> => true
    const failure = await rejection(provision({ partitions: 2, isKnown }))
    expect(failure).to.be.instanceOf(PermanentError)
    expect(failure.message).to.match(/it is gone.*ALLOW_LOST_LOG=1/)
    expect(await configuration('0')).to.equal(undefined)
    await provision({ partitions: 2, isKnown, allowLostLog: true })
    await provision({ partitions: 2, isKnown: () => expect.fail('asked, though they are there') })
  })

  it('asks once whether the installation is known, however many are missing', async () => {
    let asked = 0
    const isKnown = async (): Promise<boolean> => {
      asked++
      return false
    }
    await provision({ partitions: 4, isKnown })
    expect(asked).to.equal(1)
  })

  it('goes on where a first start was broken off, before anything was written', async () => {
    await provision({ partitions: 2 })
    await askServer(nats, `STREAM.DELETE.${logName('directory', prefix).stream}`)
    await askServer(nats, `STREAM.DELETE.${logName('1', prefix).stream}`)
    await provision({ partitions: 2 })
    expect(await configuration('1')).not.to.equal(undefined)
  })

  it('says what to give NATS where it has not the room that the streams may take', async () => {
    const failure = await rejection(provision({ bytesMax: 2 * 1024 ** 4 }))
    expect(failure).to.be.instanceOf(PermanentError)
    expect(String(failure)).to.include('NATS_STORE_BYTES').and.to.include('insufficient storage')
  })

  it('refuses another number of partitions, even where a lazy log is allowed', async () => {
    await provision({ partitions: 2 })
    for (const allowLazyLog of [false, true]) {
      const failure = await rejection(provision({ partitions: 3, allowLazyLog }))
      expect(failure).to.be.instanceOf(PermanentError)
      expect(failure.message).to.match(/PARTITIONS=2/)
    }
  })

  const losing: Readonly<Record<string, readonly [change: object, reason: RegExp]>> = {
    'memory storage': [{ storage: 'memory' }, /storage is not file/],
    'discard old': [{ discard: 'old' }, /discard is not new/],
    'no acks': [{ no_ack: true, allow_atomic: false }, /no_ack is set/],
    'an age limit': [{ max_age: 86_400e9 }, /max_age is set/],
    'a limit of a subject': [{ max_msgs_per_subject: 5 }, /max_msgs_per_subject is set/],
    'deletes allowed': [{ deny_delete: false }, /deny_delete is not set/],
    'rollups allowed': [{ allow_rollup_hdrs: true }, /allow_rollup_hdrs is set/],
    'interest retention': [{ retention: 'interest' }, /retention is not limits/],
    'asynchronous writes': [{ persist_mode: 'async', allow_atomic: false }, /persist_mode is async/],
  }
  for (const [name, [change, reason]] of Object.entries(losing)) {
    it(`refuses an existing log with ${name}`, async () => {
      const log = logName('0', prefix)
      const wanted = { epoch: newEpoch(), partitions: 1, replicas: 1, bytesMax: 1_000_000 }
      const made = await askServer(nats, `STREAM.CREATE.${log.stream}`, { ...configOf(log, wanted), ...change })
      expect(made).not.to.have.property('error')
      const failure = await rejection(provision())
      expect(failure).to.be.instanceOf(PermanentError)
      expect(failure.message).to.match(reason).and.to.include(log.stream)
      if ('allow_atomic' in change) return
      const warnings: string[] = []
      await provision({ allowLazyLog: true, warn: (line) => warnings.push(line) })
      expect(warnings.join('\n')).to.match(reason)
    })
  }

  it('refuses fewer replicas than are asked for, and more than there are servers', async () => {
    await provision()
    const fewer = await rejection(provision({ replicas: 3 }))
    expect(fewer.message).to.match(
      /replicas are 1, not 3.*\(give the streams 3 replicas, or set NATS_REPLICAS=1; ALLOW_LAZY/,
    )
    await removeLogs(nats, prefix)
    expect((await rejection(provision({ replicas: 3 }))).message).to.match(/NATS_REPLICAS/)
  })

  it('refuses a stream of another program under the same name', async () => {
    const log = logName('0', prefix)
    await askServer(nats, `STREAM.CREATE.${log.stream}`, {
      name: log.stream,
      subjects: [`${prefix}.x`],
      max_bytes: 1_000_000,
    })
    const failure = await rejection(provision({ allowLazyLog: true }))
    expect(failure.message).to.match(/another program/)
  })

  it('refuses a server that nobody vouches for, before it makes anything there', async () => {
    const { proof: _, ...unproven } = testProvision
    const failure = await rejection(provisionLogs(nats, { ...unproven, prefix }))
    expect(failure).to.be.instanceOf(PermanentError)
    expect(failure.message).to.match(/NATS_MONITORING_URL.*NATS_SYNC_ALWAYS=1.*ALLOW_LAZY_LOG=1/)
    expect(await configuration()).to.equal(undefined)
  })

  it('goes on with streams that are there where less may be stored by now than it would make', async () => {
    const server = await startPlainNats('jetstream { store_dir: "$FOLDER/store", max_file_store: 100MB }')
    const own = await connectNats({ url: server.url })
    try {
      const { bytesMax: _, ...options } = testProvision
      const small = { ...options, proof: { monitoring: [server.monitoring] }, allowLazyLog: true }
      const failure = await rejection(provisionLogs(own, small))
      expect(failure.message).to.match(/^plan streams on NATS \(it may store \d+ bytes: give it more/)
      expect(await streamInfo(own, 'TELEMETRY_0')).to.equal(undefined)
      await provisionLogs(own, { ...small, bytesMax: 2 ** 20 })
      await provisionLogs(own, small)
    } finally {
      await own.close()
      await server.remove()
    }
  })

  it('shares what the account may store among all replicas of the streams', async () => {
    const routePorts = [await freePort(), await freePort(), await freePort()]
    const routes = routePorts.map((port) => `nats-route://127.0.0.1:${port}`).join()
    const lines = (port: number): string => `server_name: "n${port}"
      cluster { name: own, listen: "127.0.0.1:${port}", routes: [${routes}] }
      jetstream { store_dir: "$FOLDER/store", max_file_store: 1TB }
      accounts { own { users: [{ user: own, password: own }], jetstream: { max_file: 12GB, max_streams: 10 } } }
      no_auth_user: own
    `
    const servers = await Promise.all(routePorts.map((port) => startPlainNats(lines(port))))
    const own = await connectNats({ url: servers.map((server) => server.url).join() })
    try {
      const { bytesMax: _, ...options } = testProvision
      await provisionLogs(own, { ...options, replicas: 3, allowLazyLog: true })
      const config = (await streamInfo(own, 'TELEMETRY_0'))?.config
      expect(config?.num_replicas).to.equal(3)
      expect(config?.max_bytes).to.be.within(5e8, 4e9)
    } finally {
      await own.close()
      await Promise.all(servers.map((server) => server.remove()))
    }
  })

  describe('with the monitoring address', () => {
    const jetstream = (more: string): string => `jetstream { store_dir: "$FOLDER/store", max_file_store: 20GB${more} }`
    const tryWith = async (
      lines: string,
      monitoringOf: (own: string) => readonly string[],
    ): Promise<Error | undefined> => {
      const server = await startPlainNats(lines)
      const own = await connectNats({ url: server.url })
      const { proof: _, bytesMax: __, ...options } = testProvision
      try {
        await provisionLogs(own, { ...options, proof: { monitoring: monitoringOf(server.monitoring) } })
        const made = await streamInfo(own, 'TELEMETRY_0')
        expect(made?.config.max_bytes, 'a share of what the server may store').to.be.within(13e9, 17e9)
        return undefined
      } catch (error) {
        return error as Error
      } finally {
        await own.close()
        await server.remove()
      }
    }

    it('takes a server that syncs before it acknowledges', async () => {
      expect(await tryWith(jetstream(', sync_interval: always'), (own) => [own])).to.equal(undefined)
    })

    it('refuses one that does so later', async () => {
      const failure = await tryWith(jetstream(''), (own) => [own])
      expect(failure).to.be.instanceOf(PermanentError)
      expect(failure?.message).to.match(/does not sync before it acknowledges: set sync_interval: always/)
    })

    it('refuses the proof of another server, and one that does not answer', async () => {
      const another = await startPlainNats(jetstream(', sync_interval: always'))
      const always = jetstream(', sync_interval: always')
      expect((await tryWith(always, () => [another.monitoring]))?.message).to.match(/does not name the server/)
      await another.remove()
      const failure = await tryWith(always, (own) => [own, another.monitoring])
      expect(failure).to.be.instanceOf(PermanentError)
      expect(failure?.message).to.match(/monitoring address of nats-server/)
    })
  })
})
