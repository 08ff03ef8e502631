import { mock } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { expect } from 'chai'
import { afterEach, beforeEach, describe, it } from 'mocha'
import type { Position } from '#src/events/envelope.ts'
import type { Nats } from '#streams/jetstream/nats.ts'
import { headOf } from '#streams/jetstream/reader.ts'
import { createWaker, type Waker } from '#streams/jetstream/waker.ts'

/** What the server has stored last, by its sequence. */
const stored = (sequence: number) => ({ code: 0, data: new Uint8Array(), header: () => String(sequence) })

describe('who waits for a JetStream log to grow', () => {
  let head: Position
  /** Called with each look at the head. */
  let onLook: () => void
  let announce: (sequence: number) => void
  /** Called with each subscription. */
  let onListen: () => void
  /** Who hears of reconnects, and of what is stored. */
  let listening: number
  let subscribed: number
  let reconnect: () => void
  let waker: Waker
  let createListener: () => Waker

  beforeEach(() => {
    head = 4_096
    onLook = () => undefined
    onListen = () => undefined
    ;[listening, subscribed] = [0, 0]
    const nats: Pick<Nats, 'subscribe' | 'onReconnect'> = {
      subscribe: async (_, listener) => {
        onListen()
        announce = (sequence) => listener(stored(sequence))
        subscribed++
        return () => subscribed--
      },
      onReconnect: (listener) => {
        reconnect = listener
        listening++
        return () => listening--
      },
    }
    const asked = async (): Promise<Position> => {
      onLook()
      return head
    }
    createListener = () => createWaker(nats as Nats, 'stored', asked)
    waker = createListener()
  })
  afterEach(() => {
    waker.close()
    mock.timers.reset()
  })

  const wait = (after: Position): Promise<void> => waker.wait(after, new AbortController().signal)
  /** Waits, and resolves when the head has been looked at for that. */
  const beginToWait = async (after: Position): Promise<Readonly<{ woken: Promise<void> }>> => {
    const looked = Promise.withResolvers<void>()
    onLook = looked.resolve
    const woken = wait(after)
    await looked.promise
    await turn()
    return { woken }
  }

  it('hears nothing more once it is closed, also where it had just begun to', async () => {
    await beginToWait(4_096)
    expect([listening, subscribed]).to.deep.equal([1, 1])
    waker.close()
    expect([listening, subscribed]).to.deep.equal([0, 0])
    const begun = createListener()
    void begun.wait(4_096, new AbortController().signal)
    begun.close()
    await turn()
    expect([listening, subscribed]).to.deep.equal([0, 0])
  })

  it('is woken when a lost connection is there again', async () => {
    const { woken } = await beginToWait(4_096)
    reconnect()
    await woken
  })

  it('listens when it waits again, where there was no connection at first', async () => {
    onListen = () => {
      throw new Error('there is no connection')
    }
    const { woken } = await beginToWait(4_096)
    waker.wake(8_192)
    await woken
    onListen = () => undefined
    const { woken: again } = await beginToWait(8_192)
    announce(3)
    await again
    expect(listening).to.equal(1)
  })

  it('hears of what was not announced, after another look at the head', async () => {
    const { woken } = await beginToWait(4_096)
    head = 8_192
    await woken
  })

  it('looks at the head each second as long as somebody waits, and no longer', async () => {
    mock.timers.enable({ apis: ['setTimeout'] })
    const { woken } = await beginToWait(4_096)
    let looks = 0
    onLook = () => looks++
    const second = async (): Promise<number> => {
      mock.timers.tick(1_000)
      await turn()
      return looks
    }
    expect([await second(), await second()]).to.deep.equal([1, 2])
    head = 8_192
    expect(await second()).to.equal(3)
    await woken
    expect([await second(), await second()]).to.deep.equal([3, 3])
    const again = wait(8_192)
    waker.close()
    await again
    expect(await second()).to.equal(3)
  })

  it('is woken where the head cannot be read: its next read says why', async () => {
    onLook = () => {
      throw new Error('no answer in time')
    }
    await wait(4_096)
  })

  it('is woken when the head has gone back, as where an older log was put in place', async () => {
    const { woken } = await beginToWait(4_096)
    head = 0
    await woken
  })

  it('goes by the furthest of what was announced, also while the head was asked for', async () => {
    const { woken } = await beginToWait(4_096)
    onLook = () => {
      for (const sequence of [3, 2]) announce(sequence)
    }
    expect(await waker.head()).to.equal(4_096)
    await woken
    onLook = () => undefined
    let isWoken = false
    const again = wait(headOf(2)).then(() => (isWoken = true))
    await turn()
    expect(isWoken).to.equal(true)
    await again
  })

  it('waits for what was announced and has not come about', async () => {
    const { woken } = await beginToWait(4_096)
    announce(2)
    await woken
    expect(await waker.head()).to.equal(4_096)
    let isWoken = false
    const again = wait(4_096).then(() => (isWoken = true))
    await turn()
    expect(isWoken).to.equal(false)
    announce(2)
    await again
  })
})
