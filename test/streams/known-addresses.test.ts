import { mock } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { expect } from 'chai'
import { keepAddresses, type NamedServer } from '#streams/jetstream/known-addresses.ts'

const at = (hostname: string): NamedServer => ({ hostname, resolve: async () => [] })
const silent = new Promise<never>(() => undefined)
const patienceMs = 2_000

describe('a server of NATS by its name', () => {
  /** `answers`: of the resolver, in turn; a name that leads nowhere is answered with itself, as the client does. */
  const named = (answers: readonly (readonly string[] | typeof silent)[], resolves: readonly string[] = []) => {
    let asked = 0
    const server: NamedServer = {
      hostname: 'nats.example',
      resolves: resolves.map(at),
      resolve: async () => (await (answers[asked++] ?? silent)).map(at),
    }
    keepAddresses(server)
    const tried = async (): Promise<readonly string[]> => {
      const found = server.resolve({})
      // One that answers has answered by then.
      await setImmediate()
      mock.timers.tick(patienceMs)
      return (await found).map(({ hostname }) => hostname)
    }
    return { server, tried }
  }
  beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }))
  afterEach(() => mock.timers.reset())

  it('is tried where its name leads, and only there', async () => {
    const { tried } = named([['10.0.0.1', '10.0.0.2'], ['10.0.0.3']], ['10.0.0.9'])
    expect(await tried()).to.deep.equal(['10.0.0.1', '10.0.0.2'])
    expect(await tried()).to.deep.equal(['10.0.0.3'])
  })

  it('is tried where its name led last, and by its name, while the resolver is silent or knows nothing', async () => {
    const { tried } = named([['10.0.0.1'], silent, ['nats.example'], ['10.0.0.2'], []])
    expect(await tried()).to.deep.equal(['10.0.0.1'])
    expect(await tried()).to.deep.equal(['10.0.0.1', 'nats.example'])
    expect(await tried()).to.deep.equal(['10.0.0.1', 'nats.example'])
    expect(await tried()).to.deep.equal(['10.0.0.2'])
    expect(await tried()).to.deep.equal(['10.0.0.2', 'nats.example'])
  })

  it('is asked for its certificate by its name also where it is tried by that', async () => {
    const { server, tried } = named([silent, silent])
    await tried()
    const found = server.resolve({})
    await setImmediate()
    mock.timers.tick(patienceMs)
    expect((await found).at(-1)).to.include({ hostname: 'nats.example', tlsName: 'nats.example' })
  })

  it('is known by where the client has connected to before', async () => {
    const { tried } = named([silent], ['10.0.0.9'])
    expect(await tried()).to.deep.equal(['10.0.0.9', 'nats.example'])
  })

  it('keeps one resolver, however often it is looked at', () => {
    const { server } = named([])
    const { resolve } = server
    keepAddresses(server)
    expect(server.resolve).to.equal(resolve)
  })
})

describe('a resolver of NATS that has answered', () => {
  it('is waited for no longer: no timer keeps the process', async () => {
    const timers = (): number => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length
    // Mocha sets its own once a test has begun to wait.
    await setImmediate()
    const before = timers()
    const server: NamedServer = { ...at('nats.example'), resolve: async () => [at('10.0.0.1')] }
    keepAddresses(server)
    await server.resolve({})
    expect(timers()).to.equal(before)
  })
})
