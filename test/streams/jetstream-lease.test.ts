import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import { expect } from 'chai'
import { askApi } from '#streams/jetstream/api.ts'
import { connectNats } from '#streams/jetstream/connect.ts'
import type { Nats } from '#streams/jetstream/nats.ts'
import { holdLease } from '#streams/jetstream/hold-lease.ts'
import { holdPartitions, shareOf } from '#streams/jetstream/hold-partitions.ts'
import { createLeaseBoard, type LeaseBoard } from '#streams/jetstream/lease-board.ts'
import { natsEngine } from '../support/engines.ts'
import { askServer } from './jetstream-log.ts'
import { rejection } from '../support/read-all.ts'
import { startPlainNats } from './plain-nats.ts'

const ttlMs = 1_000
/** Of leases that must not expire because this process stands still for a moment. */
const longTtlMs = 4_000
const partitions = 4

type Holder = Readonly<{
  id: string
  works: ReadonlySet<number>
  /** Gives everything back, as a process that is stopped. */
  stop(): Promise<void>
  /** Says no more to NATS and goes on working, as a process that was paused or cut off. */
  cutOff(): Promise<void>
}>

describe('leases of partitions, on NATS', () => {
  let url: string
  let prefix: string
  let ending: (() => Promise<void>)[]
  /** By partition, who works on it; and what two have worked on at once. */
  let atWork: Map<number, Set<string>>
  let overlaps: string[]
  before(async () => {
    url = await natsEngine()
  })
  beforeEach(() => {
    prefix = `t${randomUUID()}`
    ending = []
    atWork = new Map()
    overlaps = []
  })
  afterEach(async () => {
    for (const end of ending) await end()
    const nats = await connectNats({ url })
    await askApi(nats, `STREAM.DELETE.${prefix}-LEASES`)
    await nats.close()
  })

  const boardOn = (nats: Nats, ms = ttlMs): Promise<LeaseBoard> =>
    createLeaseBoard({ nats, prefix, ttlMs: ms, replicas: 1 })

  /** Never aborted: what does not end when it is told to. */
  const forEver = new AbortController().signal

  type Behaviour = Readonly<{ obeys?: boolean; fails?: () => boolean; ttl?: number }>

  async function startHolder(
    id: string,
    { obeys = true, fails = () => false, ttl = ttlMs }: Behaviour = {},
  ): Promise<Holder> {
    const nats = await connectNats({ url })
    const board = await boardOn(nats, ttl)
    const works = new Set<number>()
    const stopped = new AbortController()
    const run = async (partition: number, signal: AbortSignal): Promise<void> => {
      if (fails()) throw new Error('it cannot work')
      const here = atWork.get(partition) ?? new Set()
      atWork.set(partition, here.add(id))
      if (here.size > 1) overlaps.push(`${partition}: ${[...here].join(' and ')}`)
      works.add(partition)
      const until = obeys ? signal : forEver
      if (!until.aborted) await Promise.race([once(until, 'abort'), once(stopped.signal, 'abort')])
      works.delete(partition)
      here.delete(id)
    }
    const held = holdPartitions({ board, id, partitions, run, onFailure: () => undefined }, stopped.signal)
    const stop = async (): Promise<void> => {
      stopped.abort()
      await held
      await nats.close()
    }
    ending.push(stop)
    return { id, works, stop, cutOff: () => nats.close() }
  }

  /** Waits until all partitions are worked on, so many by each. */
  async function untilShared(...shares: readonly (readonly [Holder, number])[]): Promise<void> {
    const isShared = (): boolean => {
      const all = shares.flatMap(([{ works }]) => [...works])
      return shares.every(([{ works }, share]) => works.size === share) && new Set(all).size === all.length
    }
    while (!isShared()) await setTimeout(5)
  }

  it('gives one process all of them, and a second one its half', async () => {
    const first = await startHolder('a')
    await untilShared([first, 4])
    const second = await startHolder('b')
    await untilShared([first, 2], [second, 2])
  })

  it('spreads them over three processes, and over as many as there are', async () => {
    const holders = [await startHolder('a'), await startHolder('b'), await startHolder('c')] as const
    await untilShared([holders[0], 2], [holders[1], 1], [holders[2], 1])
    const more = [await startHolder('d'), await startHolder('e')] as const
    await untilShared([holders[0], 1], [holders[1], 1], [holders[2], 1], [more[0], 1], [more[1], 0])
  })

  it('gives them back when a process stops, without waiting for their end', async () => {
    const first = await startHolder('a')
    await untilShared([first, 4])
    await first.stop()
    const nats = await connectNats({ url })
    const board = await boardOn(nats)
    for (let partition = 0; partition < partitions; partition++) {
      expect(await board.take(partition, 'b'), `partition ${partition}`).to.be.a('number')
    }
    expect(await board.members()).to.deep.equal([])
    await nats.close()
  })

  it('takes over from a process that is lost, which stops by itself before', async () => {
    const lost = await startHolder('a')
    const other = await startHolder('b')
    await untilShared([lost, 2], [other, 2])
    await lost.cutOff()
    await untilShared([lost, 0], [other, 4])
    expect(overlaps, 'two at work on one').to.deep.equal([])
  })

  it('takes over from one that is lost and goes on all the same', async () => {
    const zombie = await startHolder('a', { obeys: false })
    await untilShared([zombie, 4])
    await zombie.cutOff()
    const other = await startHolder('b')
    while (other.works.size < 4) await setTimeout(5)
    expect(zombie.works.size).to.equal(4)
  })

  it('gives back what cannot be worked on, and tries it again', async () => {
    let failures = 0
    const first = await startHolder('a', { fails: () => ++failures <= 4 })
    await untilShared([first, 4])
    expect(failures).to.be.at.least(8)
  })

  it('makes them anew where their stream is gone, as after a restart, and works on without a pause', async () => {
    let runs = 0
    const first = await startHolder('a', { fails: () => ++runs < 0, ttl: longTtlMs })
    await untilShared([first, 4])
    const nats = await connectNats({ url })
    await askApi(nats, `STREAM.DELETE.${prefix}-LEASES`)
    for (let partition = 0; partition < partitions; partition++) {
      const wanted = { last_by_subj: `${prefix}-leases.partition.${partition}` }
      while ('error' in (await askApi(nats, `STREAM.MSG.GET.${prefix}-LEASES`, wanted))) await setTimeout(5)
    }
    await untilShared([first, 4])
    expect(runs).to.equal(partitions)
    await nats.close()
  })

  it('loses what somebody else has taken when their stream was gone', async () => {
    const nats = await connectNats({ url })
    const board = await boardOn(nats, longTtlMs)
    const revision = (await board.take(0, 'a')) ?? 0
    await askApi(nats, `STREAM.DELETE.${prefix}-LEASES`)
    await board.attend('b')
    const taken = (await board.take(0, 'b')) ?? 0
    expect(await board.renew(0, 'a', revision)).to.equal(undefined)
    expect(await board.renew(0, 'b', taken)).to.be.greaterThan(taken)
    await nats.close()
  })

  it('are renewed where an earlier renewal was stored and its answer was lost, as with a connection', async () => {
    const nats = await connectNats({ url })
    const board = await boardOn(nats, longTtlMs)
    const revision = (await board.take(0, 'a')) ?? 0
    let isDeaf = true
    const request: Nats['request'] = async (subject, ...given) => {
      const answer = await nats.request(subject, ...given)
      if (isDeaf && !subject.startsWith('$JS')) throw new Error('the connection was lost')
      return answer
    }
    const deaf = await boardOn({ ...nats, request }, longTtlMs)
    expect((await rejection(deaf.renew(0, 'a', revision))).message).to.equal('the connection was lost')
    isDeaf = false
    const renewed = (await deaf.renew(0, 'a', revision)) ?? 0
    expect(renewed).to.be.greaterThan(revision)
    expect(await board.take(0, 'b'), 'taken by another').to.equal(undefined)
    expect(await board.renew(0, 'a', renewed)).to.be.greaterThan(renewed)
    await nats.close()
  })

  it('loses what somebody else takes while it looks whether their stream was gone', async () => {
    const nats = await connectNats({ url })
    const board = await boardOn(nats, longTtlMs)
    const revision = (await board.take(0, 'a')) ?? 0
    await askApi(nats, `STREAM.DELETE.${prefix}-LEASES`)
    await board.attend('b')
    let taken: number | undefined
    const request: Nats['request'] = async (subject, ...given) => {
      const answer = await nats.request(subject, ...given)
      if (subject.includes('MSG.GET')) taken ??= await board.take(0, 'b')
      return answer
    }
    const late = await boardOn({ ...nats, request }, longTtlMs)
    expect(await late.renew(0, 'a', revision)).to.equal(undefined)
    expect(await board.renew(0, 'b', taken ?? 0)).to.be.a('number')
    await nats.close()
  })

  it('are taken by one of those who ask at once, also where somebody has held them before', async () => {
    const nats = await connectNats({ url })
    const board = await boardOn(nats, longTtlMs)
    for (let times = 0; times < 2; times++) {
      const taken = await Promise.all(['a', 'b', 'c'].map((id) => board.take(0, id)))
      const [revision, ...others] = taken.filter((each) => each !== undefined)
      expect(others, 'taken by others').to.deep.equal([])
      await board.giveBack(0, revision ?? 0)
    }
    await nats.close()
  })

  it('knows when a lease is no longer its own', async () => {
    const nats = await connectNats({ url })
    const board = await boardOn(nats, longTtlMs)
    const revision = (await board.take(0, 'a')) ?? 0
    expect(await board.take(0, 'b'), 'taken twice').to.equal(undefined)
    const renewed = (await board.renew(0, 'a', revision)) ?? 0
    expect(renewed).to.be.greaterThan(revision)
    await board.giveBack(0, revision)
    expect(await board.take(0, 'b'), 'given back by an old revision').to.equal(undefined)
    let again: number | undefined
    while (again === undefined) again = await board.take(0, 'b')
    expect(await board.renew(0, 'a', renewed), 'renewed when it had expired').to.equal(undefined)
    await board.giveBack(0, again)
    expect(await board.take(0, 'c'), 'taken when it was given back').to.be.greaterThan(again)
    await nats.close()
  })

  it('expire as they are wanted now, where they were made to expire otherwise', async () => {
    const nats = await connectNats({ url })
    await boardOn(nats, longTtlMs)
    await boardOn(nats)
    const { config } = (await askServer(nats, `STREAM.INFO.${prefix}-LEASES`)) as { config?: object }
    expect(config).to.include({ max_age: ttlMs * 1e6, duplicate_window: ttlMs * 1e6, num_replicas: 1 })
    expect(config).to.include({ max_msgs_per_subject: 1, storage: 'memory' })
    await nats.close()
  })

  it('are in memory, also where an earlier program has kept them in files, while it goes on', async () => {
    const nats = await connectNats({ url })
    const storageNow = async (): Promise<unknown> => {
      const { config } = (await askServer(nats, `STREAM.INFO.${prefix}-LEASES`)) as { config?: { storage: string } }
      return config?.storage
    }
    const ofFiles = { name: `${prefix}-LEASES`, subjects: [`${prefix}-leases.>`], storage: 'file' }
    await askServer(nats, `STREAM.CREATE.${prefix}-LEASES`, { ...ofFiles, max_msgs_per_subject: 1, num_replicas: 1 })
    const { seq } = JSON.parse(String((await nats.request(`${prefix}-leases.partition.0`, 'earlier')).data)) as {
      seq: number
    }
    expect(await storageNow()).to.equal('file')
    const board = await boardOn(nats, longTtlMs)
    expect(await storageNow()).to.equal('memory')
    const taken = (await board.take(0, 'a')) ?? 0
    expect(taken, 'nobody holds it').to.be.greaterThan(0)
    expect(await board.renew(0, 'earlier', seq + 1), 'of the earlier program').to.equal(undefined)
    await boardOn(nats, longTtlMs)
    expect(await board.renew(0, 'a', taken), 'opened once more').to.be.greaterThan(taken)
    await nats.close()
  })

  describe('on a server of their own', () => {
    const onServer = async (limits: string, task: (nats: Nats) => Promise<void>): Promise<void> => {
      const server = await startPlainNats(`jetstream { store_dir: "$FOLDER/store", ${limits} }`)
      const nats = await connectNats({ url: server.url })
      try {
        await task(nats)
      } finally {
        await nats.close()
        await server.remove()
      }
    }

    it('are renewed and taken while it has no room for anything else', () =>
      onServer('max_file_store: 16MB', async (nats) => {
        const board = await boardOn(nats, longTtlMs)
        const revision = (await board.take(0, 'a')) ?? 0
        await askServer(nats, 'STREAM.CREATE.full', { name: 'full', subjects: ['full'], storage: 'file' })
        let answer = ''
        while (!answer.includes('error')) answer = String((await nats.request('full', Buffer.alloc(500_000))).data)
        expect(answer).to.include('insufficient')
        expect(await board.renew(0, 'a', revision)).to.be.greaterThan(revision)
        expect(await board.take(1, 'a')).to.be.a('number')
      }))

    it('are in files where it grants no memory', () =>
      onServer('max_file_store: 16MB, max_memory_store: 1KB', async (nats) => {
        const board = await boardOn(nats, longTtlMs)
        expect(await board.take(0, 'a')).to.be.a('number')
        const { config } = (await askServer(nats, `STREAM.INFO.${prefix}-LEASES`)) as { config?: object }
        expect(config).to.include({ storage: 'file' })
        await boardOn(nats, longTtlMs)
        expect(await board.take(0, 'b'), 'opened once more').to.equal(undefined)
      }))
  })

  describe('of one thing', () => {
    const name = 'rebuild-logs-0'
    const connected = async (): Promise<Nats> => {
      const nats = await connectNats({ url })
      ending.push(() => nats.close())
      return nats
    }

    it('are held by one process, until it lets go', async () => {
      const board = await boardOn(await connected(), longTtlMs)
      const lost: string[] = []
      const hold = (id: string) => holdLease({ board, name, id, onLost: () => lost.push(id) })
      const first = await hold('first')
      expect(await hold('second')).to.equal(undefined)
      // Longer than a lease that nobody renews.
      await setTimeout(longTtlMs * 1.5)
      expect(await hold('second')).to.equal(undefined)
      await first?.release()
      const second = await hold('second')
      expect(second).to.not.equal(undefined)
      await second?.release()
      expect(lost).to.deep.equal([])
    })

    it('say once that they are lost, and come free, when NATS does not hear of them any more', async () => {
      const nats = await connected()
      const board = await boardOn(nats)
      const lost = Promise.withResolvers<void>()
      let times = 0
      const onLost = (): void => {
        times++
        lost.resolve()
      }
      const deaf: LeaseBoard = { ...board, renew: () => new Promise(() => {}) }
      expect(await holdLease({ board: deaf, name, id: 'first', onLost })).to.not.equal(undefined)
      await lost.promise
      let second = await holdLease({ board, name, id: 'second', onLost })
      while (second === undefined) {
        await setTimeout(20)
        second = await holdLease({ board, name, id: 'second', onLost })
      }
      await second.release()
      expect(times).to.equal(1)
    })
  })
})

describe('a share of the partitions', () => {
  it('is even, and all shares together are all partitions', () => {
    for (const [count, partitions] of [
      [1, 4],
      [2, 4],
      [3, 4],
      [3, 7],
      [5, 4],
      [4, 256],
    ] as const) {
      const members = Array.from({ length: count }, (_, index) => `m${index}`)
      const shares = members.map((id) => shareOf(id, members, partitions))
      expect(shares.reduce((sum, share) => sum + share, 0)).to.equal(partitions)
      expect(Math.max(...shares) - Math.min(...shares)).to.be.at.most(1)
    }
  })

  it('counts a process that others do not see yet', () => {
    expect(shareOf('b', ['a'], 4)).to.equal(2)
    expect(shareOf('a', [], 4)).to.equal(4)
  })
})
