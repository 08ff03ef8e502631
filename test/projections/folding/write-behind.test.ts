import { expect } from 'chai'
import { beforeEach, describe, it } from 'mocha'
import type { IndexWriter } from '#projections/index-store.ts'
import { createMemoryIndexStore, type MemoryIndexStore } from '#projections/stores/memory/store.ts'
import { createWriteBehind } from '#projections/folding/write-behind.ts'
import { acme, day, epoch, fixture, index, lineEntry, other, thingEntry } from '#test/support/index-fixture.ts'

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** A failure that nobody foresaw, and where it was thrown. */
const told =
  /^PermanentError: write fixture-v1-001: Error in test\/projections\/folding\/write-behind\.test\.ts:\d+:\d+: no room$/

describe('a writer that does not wait', () => {
  let store: MemoryIndexStore
  let writer: IndexWriter
  /** What the writer behind was asked to write, and what ends each of these. */
  let begun: number[]
  let gates: PromiseWithResolvers<void>[]
  beforeEach(async () => {
    store = createMemoryIndexStore()
    begun = []
    gates = []
    writer = createWriteBehind({
      ...store.writer,
      async write(name, entries, checkpoint) {
        const gate = Promise.withResolvers<void>()
        begun.push(checkpoint.position)
        gates.push(gate)
        await gate.promise
        await store.writer.write(name, entries, checkpoint)
      },
    })
    await writer.open(index, fixture, epoch)
  })

  const write = (position: number, id = `t${position}`): Promise<void> =>
    writer.write(index, [{ workspaceId: acme, entries: [thingEntry(id, {}, position)] }], { epoch, position })
  const load = (id: string, workspaceId = acme, collection = 'things') =>
    writer.load(index, [{ workspaceId, collection, id, day }])
  /** Whether it has resolved by now. */
  async function isDone(promise: Promise<unknown>): Promise<boolean> {
    let done = false
    promise.then(
      () => (done = true),
      () => (done = true),
    )
    for (let turns = 0; turns < 5; turns++) await turn()
    return done
  }

  it('has one write under way, and begins the next when that is done', async () => {
    await write(1)
    const second = write(2)
    expect([await isDone(second), begun]).to.deep.equal([false, [1]])
    gates[0]?.resolve()
    await second
    expect(begun).to.deep.equal([1, 2])
    const third = write(3)
    gates[1]?.resolve()
    await third
    gates[2]?.resolve()
    expect(await writer.checkpoint(index)).to.deep.equal({ epoch, position: 3 })
  })

  it('says nothing of what is not written, removes nothing before it is, and closes when all is', async () => {
    for (const task of [
      () => writer.open(index, fixture, epoch),
      () => writer.checkpoint(index),
      () => writer.heartbeat(index, { position: 9, head: 9, at: 1, caughtUpAt: 1 }),
      () => writer.roster('fixture'),
      () => writer.builds('fixture'),
      () => writer.eraseWorkspace(index, acme, 100),
      () => writer.dropDays(index, { of: () => '', all: '' }),
      () => writer.drop(index),
      () => writer.close(),
    ]) {
      await writer.open(index, fixture, epoch)
      await write(begun.length + 1)
      const asked = task()
      expect(await isDone(asked)).to.equal(false)
      gates.at(-1)?.resolve()
      await asked
    }
  })

  it('loads what is under way when it is there, and all else at once', async () => {
    await write(1, 'a')
    expect((await load('b')).flat()).to.deep.equal([])
    expect((await load('a', other)).flat()).to.deep.equal([])
    expect((await load('a', acme, 'sets')).flat()).to.deep.equal([])
    const asked = load('a')
    expect(await isDone(asked)).to.equal(false)
    gates[0]?.resolve()
    expect((await asked).flat().map(({ id, position }) => [id, position])).to.deep.equal([['a', 1]])
  })

  for (const [what, next] of Object.entries<() => Promise<unknown>>({
    'the next write': () => write(2),
    'a heartbeat': () => writer.heartbeat(index, { position: 1, head: 1, at: 1, caughtUpAt: 1 }),
    'the end': () => writer.close(),
    'a load of what it held': () => load('t1'),
  })) {
    it(`fails ${what} where a write has failed`, async () => {
      await write(1)
      gates[0]?.reject(new Error('no room'))
      await turn()
      expect(await next().catch(String)).to.match(told)
      expect(begun).to.deep.equal([1])
      expect((await store.writer.checkpoint(index)).position).to.equal(0)
    })
  }

  it('goes on where the write before has failed and that was told', async () => {
    await write(1)
    gates[0]?.reject(new Error('no room'))
    expect(await write(2).catch(String)).to.match(told)
    await write(1)
    gates[1]?.resolve()
    expect(await writer.checkpoint(index)).to.deep.equal({ epoch, position: 1 })
  })

  it('closes when nothing is written any more, also where one of several writes has failed', async () => {
    const second = 'fixture-v1-002'
    await writer.open(second, fixture, epoch)
    await write(1)
    await writer.write(second, [], { epoch, position: 1 })
    gates[0]?.reject(new Error('no room'))
    const closed = writer.close()
    expect(await isDone(closed)).to.equal(false)
    gates[1]?.resolve()
    expect(await closed.catch(String)).to.match(told)
    expect((await store.writer.checkpoint(second)).position).to.equal(1)
  })

  it('keeps indexes apart', async () => {
    const second = 'fixture-v1-002'
    await writer.open(second, fixture, epoch)
    await write(1)
    const entries = [{ workspaceId: acme, entries: [lineEntry({}, 7)] }]
    await writer.write(second, entries, { epoch, position: 7 })
    expect(begun).to.deep.equal([1, 7])
    for (const gate of gates) gate.resolve()
    await writer.close()
  })
})
