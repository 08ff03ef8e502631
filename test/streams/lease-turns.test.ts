import { once } from 'node:events'
import { setImmediate as turn } from 'node:timers/promises'
import { expect } from 'chai'
import { afterEach, beforeEach, describe, it } from 'mocha'
import { holdLease } from '#streams/jetstream/hold-lease.ts'
import { holdPartitions } from '#streams/jetstream/hold-partitions.ts'
import type { LeaseBoard } from '#streams/jetstream/lease-board.ts'

/** A board on which this process is alone. */
const emptyBoard: LeaseBoard = {
  ttlMs: 100,
  attend: async () => undefined,
  leave: async () => undefined,
  members: async () => ['a'],
  take: async () => 1,
  renew: async (_leased, _id, revision) => revision + 1,
  giveBack: async () => undefined,
}

/** A time that the test sets, and what looks at it. */
function createTime() {
  let onLook = (): void => undefined
  const time = {
    nowMs: 0,
    now: (): number => {
      onLook()
      return time.nowMs
    },
    /** Resolves when it was looked at, and what follows from that was done. */
    async seen(): Promise<void> {
      for (let times = 0; times < 2; times++) await new Promise<void>((resolve) => (onLook = resolve))
    },
  }
  return time
}

/** A board that answers one question late, at 50, and no renewal after that. `silent`: when such a one is asked. */
function createLateBoard(late: 'take' | 'renew', time: { nowMs: number }) {
  const silent = Promise.withResolvers<void>()
  const end = Promise.withResolvers<undefined>()
  let renewals = 0
  const answer = async (): Promise<number> => {
    time.nowMs = 50
    return 2
  }
  const renew = (): Promise<number | undefined> => {
    if (late === 'renew' && ++renewals === 1) return answer()
    silent.resolve()
    return end.promise
  }
  const board: LeaseBoard = { ...emptyBoard, ...(late === 'take' && { take: answer }), renew }
  return { board, silent: silent.promise, end: () => end.resolve(undefined) }
}

describe('who holds leases of partitions', () => {
  let failures: string[]
  let stopped: AbortController
  let held: Promise<void>
  beforeEach(() => {
    failures = []
    stopped = new AbortController()
  })
  afterEach(async () => {
    stopped.abort()
    await held
  })

  type Run = (signal: AbortSignal) => Promise<unknown>
  const untilAborted: Run = async (signal) => signal.aborted || once(signal, 'abort')

  /** Holds partitions, one if not told otherwise; the signal of the work on the first, once that has begun. */
  function hold(
    board: Partial<LeaseBoard>,
    {
      run = untilAborted,
      now = () => 0,
      partitions = 1,
    }: Readonly<{ run?: Run; now?: () => number; partitions?: number }> = {},
  ): Promise<AbortSignal> {
    const begun = Promise.withResolvers<AbortSignal>()
    const work = async (_partition: number, signal: AbortSignal): Promise<void> => {
      begun.resolve(signal)
      await run(signal)
    }
    const onFailure = (error: unknown): void => void failures.push(String(error))
    const options = { board: { ...emptyBoard, ...board }, id: 'a', partitions, run: work, onFailure, now }
    held = holdPartitions(options, stopped.signal)
    return begun.promise
  }

  for (const late of ['take', 'renew'] as const) {
    it(`stops a fifth of its time before others may begin, from when it asked to ${late} it`, async () => {
      const time = createTime()
      const { board, silent, end } = createLateBoard(late, time)
      const signal = await hold(board, { now: time.now })
      await silent
      time.nowMs = 79
      await time.seen()
      expect(signal.aborted).to.equal(false)
      time.nowMs = 81
      await time.seen()
      expect(signal.aborted).to.equal(true)
      end()
    })
  }

  it('takes no more than its share of those that are free', async () => {
    const turns = Promise.withResolvers<void>()
    const taken: unknown[] = []
    let attended = 0
    const attend = async (): Promise<void> => void (++attended === 3 && turns.resolve())
    const take = async (leased: unknown): Promise<number> => taken.push(leased)
    await hold({ attend, take, members: async () => ['a', 'b'] }, { partitions: 5 })
    await turns.promise
    expect(taken).to.deep.equal([0, 1, 2])
  })

  it('does not renew one that it has lost, while the work on it has not ended', async () => {
    const [ended, turns] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    let [attended, renewals] = [0, 0]
    await hold(
      {
        attend: async () => void (++attended === 4 && turns.resolve()),
        renew: async () => void renewals++,
      },
      { run: () => ended.promise },
    )
    await turns.promise
    ended.resolve()
    expect(renewals).to.equal(1)
  })

  it('tells of each time that the board cannot be reached, once', async () => {
    const turns = Promise.withResolvers<void>()
    let attended = 0
    const attend = async (): Promise<void> => {
      attended++
      if (attended === 6) turns.resolve()
      if ([2, 3, 5].includes(attended)) throw new Error(`turn ${attended}`)
    }
    await hold({ attend })
    await turns.promise
    expect(failures).to.deep.equal(['Error: turn 2', 'Error: turn 5'])
  })

  it('gives it back as it is after a renewal that is under way when the work ends', async () => {
    const [asked, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const [answered, given] = [Promise.withResolvers<number>(), Promise.withResolvers<number>()]
    const renew = (): Promise<number> => {
      asked.resolve()
      return answered.promise
    }
    const giveBack = async (_leased: unknown, revision: number): Promise<void> => given.resolve(revision)
    await hold({ renew, giveBack }, { run: () => ended.promise })
    await asked.promise
    ended.resolve()
    await turn()
    answered.resolve(7)
    expect(await given.promise).to.equal(7)
  })

  it('has given all back when it has ended, and leaves then', async () => {
    const order: string[] = []
    const giveBack = async (): Promise<void> => {
      await turn()
      order.push('given back')
    }
    await hold({ giveBack, leave: async () => void order.push('left') })
    stopped.abort()
    await held
    expect(order).to.deep.equal(['given back', 'left'])
  })

  it('tells when one cannot be given back, and goes on', async () => {
    const again = Promise.withResolvers<void>()
    let runs = 0
    const run: Run = async (signal) => {
      if (++runs === 1) return
      again.resolve()
      await untilAborted(signal)
    }
    const giveBack = async (): Promise<void> => {
      if (runs === 1) throw new Error('not now')
    }
    await hold({ giveBack }, { run })
    await again.promise
    expect(failures).to.deep.equal(['Error: not now'])
  })
})

describe('who holds a lease of one thing', () => {
  type Holding = Parameters<typeof holdLease>[0]
  const hold = (board: Partial<LeaseBoard>, { onLost = () => undefined, ...given }: Partial<Holding> = {}) =>
    holdLease({ board: { ...emptyBoard, ...board }, name: 'rebuild', id: 'a', onLost, ...given })

  for (const late of ['take', 'renew'] as const) {
    it(`has lost it a fifth of its time before others may hold it, from when it asked to ${late} it`, async () => {
      const time = createTime()
      const { board, silent, end } = createLateBoard(late, time)
      const told = Promise.withResolvers<void>()
      let isLost = false
      const onLost = (): void => {
        isLost = true
        told.resolve()
      }
      const lease = await hold(board, { onLost, now: time.now })
      await silent
      time.nowMs = 79
      await time.seen()
      expect(isLost).to.equal(false)
      time.nowMs = 81
      await Promise.race([told.promise, time.seen()])
      expect(isLost).to.equal(true)
      end()
      await lease?.release()
    })
  }

  it('has lost it when the board says so, and asks for it no more', async () => {
    const lost = Promise.withResolvers<void>()
    const time = createTime()
    let renewals = 0
    const renew = async (): Promise<undefined> => void renewals++
    const lease = await hold({ renew }, { onLost: lost.resolve, now: time.now })
    await lost.promise
    await lease?.release()
    expect(renewals).to.equal(1)
  })

  it('asks again where the board cannot be reached', async () => {
    const renewed = Promise.withResolvers<void>()
    let renewals = 0
    const renew = async (): Promise<number> => {
      if (++renewals === 1) throw new Error('not now')
      renewed.resolve()
      return 2
    }
    let lost = 0
    const lease = await hold({ renew }, { onLost: () => lost++, now: () => 0 })
    await renewed.promise
    await lease?.release()
    expect([renewals, lost]).to.deep.equal([2, 0])
  })

  /** By which revision it is given back, where a renewal is under way meanwhile. */
  async function givenBackDuring(answered: PromiseWithResolvers<number>, answer: () => void): Promise<unknown> {
    const asked = Promise.withResolvers<void>()
    const renew = (): Promise<number> => {
      asked.resolve()
      return answered.promise
    }
    const given: number[] = []
    const lease = await hold({ renew, giveBack: async (_, revision) => void given.push(revision) }, { now: () => 0 })
    await asked.promise
    const released = lease?.release()
    answer()
    await released
    return given
  }

  it('gives it back as it is after a renewal that is under way, or as it was if that fails', async () => {
    const [renewed, failed] = [Promise.withResolvers<number>(), Promise.withResolvers<number>()]
    expect(await givenBackDuring(renewed, () => renewed.resolve(7))).to.deep.equal([7])
    expect(await givenBackDuring(failed, () => failed.reject(new Error('not now')))).to.deep.equal([1])
  })
})
