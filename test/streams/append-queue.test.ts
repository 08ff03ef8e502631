import { expect } from 'chai'
import { limits as allLimits } from '#src/config.ts'
import { beforeAll } from '#src/events/envelope.ts'
import { createAppendQueue } from '#streams/sqlite/append-queue.ts'
import type { Group, Outcome } from '#streams/sqlite/write-group.ts'
import { appendedOf } from '#streams/stream.ts'
import { makeEvent, makeLarge } from '#test/support/make-event.ts'

/** A disk that ends a commit when it is told to. */
function createDisk() {
  const groups: Group[] = []
  const ends: (() => void)[] = []
  let awaited: (() => void) | undefined
  return {
    groups,
    commit: (group: Group): Promise<readonly Outcome[]> => {
      groups.push(group)
      awaited?.()
      return new Promise((resolve) => {
        ends.push(() => resolve(group.calls.map(() => ({ kind: 'appended', appended: appendedOf([]) }))))
      })
    },
    /** Resolves when so many commits have begun. */
    begun: async (count: number): Promise<void> => {
      while (groups.length < count) {
        const { promise, resolve } = Promise.withResolvers<void>()
        awaited = resolve
        await promise
      }
    },
    end: (index: number): void => ends[index]?.(),
  }
}

const idsOf = ({ calls }: Group): readonly (readonly string[])[] =>
  calls.map(({ events }) => events.map(({ id }) => id.replace('acme.traces.', '')))

describe('the queue of appends to a SQLite log', () => {
  it('commits one group at a time: what comes meanwhile shares the next, and a close waits for all of it', async () => {
    const disk = createDisk()
    const queue = createAppendQueue('stream 0', allLimits, disk.commit)
    const first = queue.append([makeEvent('a')])
    await disk.begun(1)
    const later = ['b', 'c'].map((name) => queue.append([makeEvent(name)]))
    let isClosed = false
    const closed = queue.close().then(() => (isClosed = true))
    disk.end(0)
    await first
    await disk.begun(2)
    expect(disk.groups.map(idsOf)).to.deep.equal([[['a']], [['b'], ['c']]])
    expect(isClosed).to.equal(false)
    disk.end(1)
    await Promise.all([...later, closed])
    expect(disk.groups).to.have.length(2)
  })

  it('begins no second commit while one runs', async () => {
    const disk = createDisk()
    const queue = createAppendQueue('stream 0', allLimits, disk.commit)
    const taken = [queue.append([makeEvent('a')]), queue.append([makeEvent('b')])]
    await disk.begun(1)
    taken.push(queue.append([makeEvent('c')]))
    // By then a second loop would have committed it.
    for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate)
    expect(disk.groups.map(idsOf)).to.deep.equal([[['a'], ['b']]])
    disk.end(0)
    await disk.begun(2)
    disk.end(1)
    await Promise.all(taken)
  })

  for (const [what, limits] of [
    ['events', { appendBatchEventsMax: 2 }],
    ['bytes', { appendBatchBytesMax: 200 }],
  ] as const) {
    it(`commits together as many ${what} as allowed, and a larger call alone`, async () => {
      const disk = createDisk()
      const queue = createAppendQueue('stream 0', { ...allLimits, ...limits }, disk.commit)
      const ofTwo = ['c1', 'c2', 'c3'].map((name) => makeLarge(name, 100))
      const calls = [['a'], ['b'], ofTwo, ['d']].map((names) =>
        queue.append(names.map((name) => (typeof name === 'string' ? makeLarge(name, 100) : name))),
      )
      for (const index of [0, 1, 2]) {
        await disk.begun(index + 1)
        disk.end(index)
      }
      await Promise.all(calls)
      expect(disk.groups.map(idsOf)).to.deep.equal([[['a'], ['b']], [['c1', 'c2', 'c3']], [['d']]])
    })
  }

  it('answers an empty call without a commit', async () => {
    const disk = createDisk()
    const queue = createAppendQueue('stream 0', allLimits, disk.commit)
    expect(await queue.append([])).to.deep.include({ last: beforeAll, duplicates: 0 })
    await queue.close()
    expect(disk.groups).to.have.length(0)
  })
})
