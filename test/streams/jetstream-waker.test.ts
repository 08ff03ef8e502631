import { setImmediate as turn } from 'node:timers/promises'
import { expect } from 'chai'
import { afterEach, beforeEach, describe, it } from 'mocha'
import type { Position } from '#src/events/envelope.ts'
import type { Nats } from '#streams/jetstream/nats.ts'
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
  let listening: number
  let reconnect: () => void
  let waker: Waker

  beforeEach(() => {
    head = 4_096
    onLook = () => undefined
    onListen = () => undefined
    listening = 0
    const nats: Pick<Nats, 'subscribe' | 'onReconnect'> = {
      subscribe: async (_, listener) => {
        onListen()
        announce = (sequence) => listener(stored(sequence))
        return () => undefined
      },
      onReconnect: (listener) => {
        reconnect = listener
        listening++
        return () => listening--
      },
    }
    waker = createWaker(nats as Nats, 'stored', async () => {
      onLook()
      return head
    })
  })
  afterEach(() => waker.close())

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

  it('is woken when the head has gone back, as where an older log was put in place', async () => {
    const { woken } = await beginToWait(4_096)
    head = 0
    await woken
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
