import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import { expect } from 'chai'
import { breakOffUnread, goneSignal } from '#src/http/sending.ts'

/** An answer on its way; `look` hears each time it is looked whether its client takes it. */
class FakeAnswer extends EventEmitter {
  req = { httpVersion: '1.1' }
  writableEnded = false
  needsDrain = false
  look = (): void => {}
  get writableNeedDrain(): boolean {
    this.look()
    return this.needsDrain
  }
  destroy(): void {
    this.emit('close')
  }
}

describe('an answer that nobody waits for', () => {
  it('is one that has gone out, or whose connection is gone, also before anybody asks', () => {
    const of = (state: Partial<ServerResponse>): boolean =>
      goneSignal(Object.assign(new EventEmitter(), state) as ServerResponse).aborted
    expect([{ writableFinished: true }, { destroyed: true }, {}].map(of)).to.deep.equal([true, true, false])
  })
})

describe('an answer that is not taken', () => {
  let answer: FakeAnswer
  let gone: AbortController
  let isBroken: boolean

  beforeEach(() => {
    answer = new FakeAnswer()
    gone = new AbortController()
    isBroken = false
    answer.once('close', () => {
      isBroken = true
      gone.abort()
    })
    breakOffUnread(answer as unknown as ServerResponse, gone.signal, 1)
  })
  afterEach(() => gone.abort())

  const looks = async (count: number, atEach = (): void => {}): Promise<void> => {
    for (let seen = 0; seen < count; seen++) {
      await new Promise<void>((resolve) => (answer.look = resolve))
      atEach()
    }
  }
  const closed = (): Promise<void> => new Promise((resolve) => answer.once('close', () => resolve()))

  it('is broken off, while it is sent and when all of it has been written', async () => {
    answer.needsDrain = true
    await closed()
    expect(isBroken).to.equal(true)
  })

  it('is broken off by a reset where nothing else would tell that it is not whole', async () => {
    answer.req.httpVersion = '1.0'
    let isReset = false
    const resetAndDestroy = (): void => {
      isReset = true
      answer.destroy()
    }
    Object.assign(answer, { socket: { resetAndDestroy } })
    answer.needsDrain = true
    await closed()
    expect(isReset).to.equal(true)
  })

  it('is broken off when the last of it lies there', async () => {
    answer.writableEnded = true
    await closed()
    expect(isBroken).to.equal(true)
  })

  it('is sent on as long as a piece is taken each time', async () => {
    answer.needsDrain = true
    await looks(5, () => answer.emit('drain'))
    expect(isBroken).to.equal(false)
    await closed()
  })

  it('is looked at no more once it has gone out: its process may send millions', () => {
    const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
    const before = timers()
    gone.abort()
    expect(timers()).to.equal(before - 1)
  })

  it('is not the client’s fault while there is nothing to take', async () => {
    await looks(5)
    expect(isBroken).to.equal(false)
  })
})
