import { once } from 'node:events'
import { Socket } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { expect } from 'chai'
import { boundConnections, type BoundConnections } from '#src/http/bound-connections.ts'

describe('connections that are counted', () => {
  let now: number
  let closed: number
  let connections: BoundConnections
  beforeEach(() => {
    now = 0
    closed = 0
    connections = boundConnections({ max: 1, onClosed: (count) => (closed += count), ticks: () => now })
  })
  afterEach(() => connections.end())

  const opened = (): Socket => {
    const socket = new Socket()
    connections.opened(socket)
    return socket
  }
  const asked = (times = 1): Socket => {
    const socket = opened()
    for (let n = 0; n < times; n++) connections.asked(socket)
    return socket
  }
  const answered = (): Socket => {
    const socket = asked()
    connections.answered(socket)
    return socket
  }
  const end = (socket: Socket) => once(socket.destroy(), 'close')

  it('are none that have ended, whether they had asked, were answered or waited', async () => {
    await Promise.all([opened(), asked(), answered()].map(end))
    expect(connections.count()).to.equal(0)
  })

  it('are none that ended before they were answered', async () => {
    const socket = asked()
    await end(socket)
    connections.answered(socket)
    expect(connections.count()).to.equal(0)
  })

  /** One more, and the moment in which what has come is read before room is made for it. */
  const crowd = async (): Promise<void> => {
    opened()
    for (let turn = 0; turn < 3; turn++) await setImmediate()
  }

  it('are quiet from the look on that finds that something has come, maybe the beginning of a request', async () => {
    const socket = opened()
    Object.defineProperty(socket, 'bytesRead', { value: 1 })
    now = 5_000
    await crowd()
    expect(socket.destroyed, 'something has come').to.equal(false)
    now = 9_000
    await crowd()
    expect(socket.destroyed, 'nothing more has come').to.equal(true)
  })

  it('are closed as silent only where nothing has come, not in the middle of a first request', () => {
    const [silent, begun, used, waiting] = [opened(), opened(), asked(), answered()]
    Object.defineProperty(begun, 'bytesRead', { value: 1 })
    connections.closeSilent()
    expect([silent, begun, used, waiting].map(({ destroyed }) => destroyed)).to.deep.equal([true, false, false, false])
  })

  it('are in use until the last of several requests is answered, and idle from then on', async () => {
    const socket = asked(2)
    now = 5_000
    connections.answered(socket)
    now = 9_000
    await crowd()
    expect(socket.destroyed, 'one is not answered').to.equal(false)
    connections.answered(socket)
    now = 9_999
    await crowd()
    expect(socket.destroyed, 'idle for less than a second').to.equal(false)
    now = 10_000
    await crowd()
    expect([socket.destroyed, closed]).to.deep.equal([true, 2])
  })
})
