import { expect } from 'chai'
import { once } from 'node:events'
import { MessageChannel, type MessagePort } from 'node:worker_threads'
import { createRemote, serveRemote, type Sending } from '#src/lib/remote.ts'

type Target = Readonly<{
  double(n: number): Promise<number>
  fail(): Promise<never>
  refuse(): Promise<() => void>
  take(given: unknown): Promise<void>
}>

describe('a remote object', () => {
  let ports: readonly MessagePort[] = []
  let asked: number[] = []
  const target: Target = {
    double: async (n) => {
      asked.push(n)
      return n * 2
    },
    fail: async () => {
      throw new RangeError('too far')
    },
    refuse: async () => () => {},
    take: async () => {},
  }

  /** The remote, and how many messages have gone each way. */
  function begin(together?: (task: () => void) => void, sending?: Sending) {
    const { port1, port2 } = new MessageChannel()
    ports = [port1, port2]
    asked = []
    const messages = { calls: 0, answers: 0 }
    port2.on('message', () => messages.calls++)
    port1.on('message', () => messages.answers++)
    serveRemote(port2, target, together)
    return { remote: createRemote<Target>(port1, 'the target', () => [], sending), messages }
  }
  afterEach(() => ports[0]?.close())

  it('sends what is asked in one turn together, and answers it together, in order', async () => {
    const { remote, messages } = begin()
    const later = Promise.resolve().then(() => remote.double(4))
    const answers = await Promise.all([remote.double(1), remote.double(2), remote.double(3)])
    expect(answers).to.deep.equal([2, 4, 6])
    expect(await later).to.equal(8)
    expect(asked).to.deep.equal([1, 2, 3, 4])
    expect(messages.calls).to.be.at.most(2)
    expect(messages.answers).to.equal(messages.calls)
  })

  it('sends each call before the caller goes on, where it is to', async () => {
    const sent: unknown[] = []
    const port = { on: () => port, postMessage: (calls: unknown) => sent.push(calls) } as unknown as MessagePort
    const remote = createRemote<Target>(port, 'the target', () => [], 'at once')
    void remote.double(1)
    void remote.double(2)
    expect(sent).to.have.length(2)
    const { remote: other, messages } = begin(undefined, 'at once')
    expect(await Promise.all([other.double(1), other.double(2)])).to.deep.equal([2, 4])
    expect(messages.calls).to.equal(2)
  })

  it('begins the calls of one message within what goes around them', async () => {
    const seen: number[][] = []
    const { remote } = begin((task) => {
      const before = asked.length
      task()
      seen.push(asked.slice(before))
    })
    await Promise.all([remote.double(1), remote.double(2)])
    await remote.double(3)
    expect(seen).to.deep.equal([[1, 2], [3]])
  })

  it('fails only the call that failed, or that cannot be sent, or whose answer cannot', async () => {
    const { remote } = begin()
    const failure = (answer: Promise<unknown>): Promise<unknown> => answer.catch((error: unknown) => String(error))
    const [one, failed, refused, untaken, two] = await Promise.all([
      remote.double(1),
      failure(remote.fail()),
      failure(remote.refuse()),
      failure(remote.take(() => {})),
      remote.double(2),
    ])
    expect([one, two]).to.deep.equal([2, 4])
    expect(failed).to.equal('RangeError: too far')
    expect([refused, untaken].join()).to.match(/DataCloneError.*,DataCloneError/)
  })

  it('fails what is under way when the other end goes, and every later call', async () => {
    const { remote } = begin()
    const port = ports[0] as MessagePort
    const pending = remote.double(1).catch((error: unknown) => error)
    port.close()
    await once(port, 'close')
    expect(await pending).to.have.property('name', 'TransientError')
    expect(await remote.double(2).catch((error: unknown) => error)).to.have.property('name', 'TransientError')
  })
})
