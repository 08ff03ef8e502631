import { once } from 'node:events'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect } from 'chai'
import { holdPartitions } from '#streams/jetstream/hold-partitions.ts'
import type { LeaseBoard } from '#streams/jetstream/lease-board.ts'

const partitions = 256
const ttlMs = 1_000
/** By the clock of the test. */
const takeMs = 128
const renewMs = 16

describe('leases of many partitions', () => {
  it('are renewed while others are taken, and many at once, so that none expires', async () => {
    let time = 0
    let [asking, mostAtOnce] = [0, 0]
    const saidAt = new Map<number, number>()
    const expired: number[] = []
    const renewed = new Set<number>()
    const allRenewed = Promise.withResolvers<void>()
    /** Those that are asked for at once take the time of one. */
    const answer = async (ms: number): Promise<void> => {
      if (asking++ === 0) time += ms
      mostAtOnce = Math.max(mostAtOnce, asking)
      await nextTurn()
      asking--
    }
    const say = (partition: number): number => {
      if (time - (saidAt.get(partition) ?? time) > ttlMs) expired.push(partition)
      saidAt.set(partition, time)
      return time
    }
    const board: LeaseBoard = {
      ttlMs,
      attend: async () => undefined,
      leave: async () => undefined,
      members: async () => ['a'],
      take: async (partition) => {
        await answer(takeMs)
        return say(partition as number)
      },
      renew: async (partition) => {
        await answer(renewMs)
        renewed.add(partition as number)
        if (renewed.size === partitions) allRenewed.resolve()
        return say(partition as number)
      },
      giveBack: async () => undefined,
    }
    const stopped = new AbortController()
    const lost: number[] = []
    const run = async (partition: number, signal: AbortSignal): Promise<void> => {
      await once(signal, 'abort')
      if (!stopped.signal.aborted) lost.push(partition)
    }
    const onFailure = (error: unknown): void => allRenewed.reject(error)
    const held = holdPartitions({ board, id: 'a', partitions, run, onFailure, now: () => time }, stopped.signal)
    await allRenewed.promise
    stopped.abort()
    await held
    expect(saidAt.size).to.equal(partitions)
    expect({ expired, lost }).to.deep.equal({ expired: [], lost: [] })
    expect(mostAtOnce).to.equal(32)
  })

  it('is worked on again after it was lost only when the work on it has ended', async () => {
    const [started, mayEnd, wanted] = [[] as number[], Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    let [attended, isLost] = [0, false]
    const board: LeaseBoard = {
      ttlMs: 20,
      attend: async () => {
        if (isLost && ++attended === 5) wanted.resolve()
      },
      leave: async () => undefined,
      members: async () => ['a'],
      take: async () => 1,
      renew: async () => {
        isLost = true
        return undefined
      },
      giveBack: async () => undefined,
    }
    const [stopped, again] = [new AbortController(), Promise.withResolvers<void>()]
    let isEnded = false
    const run = async (partition: number, signal: AbortSignal): Promise<void> => {
      if (started.push(partition) > 1) again.resolve()
      await once(signal, 'abort')
      await mayEnd.promise
      isEnded = true
    }
    const onFailure = (error: unknown): void => wanted.reject(error)
    const held = holdPartitions({ board, id: 'a', partitions: 1, run, onFailure, now: () => 0 }, stopped.signal)
    await wanted.promise
    expect(started).to.deep.equal([0])
    mayEnd.resolve()
    await again.promise
    stopped.abort()
    await held
    expect(isEnded).to.equal(true)
  })
})
