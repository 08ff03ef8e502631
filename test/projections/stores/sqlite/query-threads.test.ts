import { expect } from 'chai'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { metaPath } from '#projections/stores/sqlite/paths.ts'
import { createSqliteQueryThreads, type QueryThreads } from '#projections/stores/sqlite/reading/query-threads.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import { LateError, TransientError } from '#src/lib/failure.ts'
import { createSqliteIndexWriter } from '#projections/stores/sqlite/writing/writer.ts'
import {
  acme,
  day,
  epoch,
  everything,
  fixture,
  index,
  lineEntry,
  other,
  scopeOf,
  write,
} from '#test/support/index-fixture.ts'
import { promote } from '#test/support/promote.ts'
import { limits, openSqliteFixture, timesOpen, type SqliteFixture } from '#test/support/sqlite-fixture.ts'

describe('query threads', () => {
  let given: SqliteFixture
  let threads: QueryThreads
  let lock: DatabaseSync | undefined

  beforeEach(async () => {
    given = await openSqliteFixture()
    const { folder, writer } = given
    await write(writer, [lineEntry({}, 1)], 1)
    await write(writer, [lineEntry({}, 2), lineEntry({}, 2)], 2, other)
    await writer.close()
    threads = createSqliteQueryThreads({ folder, limits }, 3)
  })
  afterEach(async () => {
    unlock()
    await threads.close()
    given.remove()
  })

  /** Who reads the workspace's file waits, for seconds, until it is unlocked. */
  function lockFile(workspaceId: WorkspaceId): void {
    lock = new DatabaseSync(join(given.folder, index, workspaceId, `${day}.db`))
    lock.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE')
  }
  function unlock(): void {
    lock?.close()
    lock = undefined
  }
  const count = (owner: string, workspaceId: WorkspaceId): Promise<number> =>
    threads.readerFor(owner).count(scopeOf('lines', workspaceId), { filter: everything })

  it('answer others while queries of one owner take long, however many', async () => {
    lockFile(acme)
    let answered = 0
    const slow = ['acme', 'acme', 'acme'].map(async (owner) => {
      const found = await count(owner, acme)
      answered++
      return found
    })
    expect(await count('other', other)).to.equal(2)
    expect(answered).to.equal(0)
    unlock()
    expect(await Promise.all(slow)).to.deep.equal([1, 1, 1])
  })

  it('answer an owner beside one query of its own that takes long', async () => {
    lockFile(acme)
    let isAnswered = false
    const slow = count('acme', acme).finally(() => (isAnswered = true))
    expect(await count('acme', other)).to.equal(2)
    expect(isAnswered).to.equal(false)
    unlock()
    expect(await slow).to.equal(1)
  })

  it('answer the questions of one request in their order, also those it asks while others are under way', async () => {
    lockFile(acme)
    const said: string[] = []
    const reader = threads.readerFor('acme')
    const ask = async (name: string, workspaceId: WorkspaceId): Promise<void> => {
      await reader.count(scopeOf('lines', workspaceId), { filter: everything })
      said.push(name)
    }
    const first = ask('first', acme)
    await count('other', other)
    const second = ask('second', other)
    await count('other', other)
    expect(said).to.deep.equal([])
    unlock()
    await Promise.all([first, second])
    expect(said).to.deep.equal(['first', 'second'])
  })

  it('do not ask what nobody waits for any more', async () => {
    lockFile(acme)
    const busy = [count('acme', acme), count('acme', acme)]
    const gone = new AbortController()
    const reader = threads.readerFor('acme', gone.signal)
    const ask = () => reader.count(scopeOf('lines', other), { filter: everything }).catch((error: unknown) => error)
    const dropped = [ask(), ask()]
    const kept = count('acme', other)
    gone.abort('gone')
    expect(await Promise.all([...dropped, ask()])).to.deep.equal(['gone', 'gone', 'gone'])
    unlock()
    expect(await Promise.all([...busy, kept])).to.deep.equal([1, 1, 2])
  })

  it('break off what nobody waits for any more, and go on with the next', async () => {
    lockFile(acme)
    const gone = new AbortController()
    const begun = threads.readerFor('acme', gone.signal).count(scopeOf('lines', acme), { filter: everything })
    const failed = begun.catch((error: unknown) => error)
    await count('other', other)
    gone.abort('gone')
    unlock()
    expect(await failed).to.equal('gone')
    expect(await Promise.all([count('acme', acme), count('acme', acme)])).to.deep.equal([1, 1])
  })

  it('break off what takes too long', async () => {
    const hasty = createSqliteQueryThreads({ folder: given.folder, limits }, 1, 1)
    lockFile(acme)
    const failed = hasty.readerFor('acme').count(scopeOf('lines', acme), { filter: everything })
    const error = failed.catch((reason: unknown) => reason)
    // Timers of as long end in their order, and the thread's has begun.
    await new Promise<void>((resolve) => process.nextTick(() => setTimeout(resolve, 1)))
    unlock()
    expect(await error).to.be.instanceOf(LateError)
    await hasty.close()
  })

  it('let go of a build that readers have left, also where they are asked nothing', async () => {
    const idle = createSqliteQueryThreads({ folder: given.folder, limits, leaveEveryMs: 10 }, 1)
    expect(await idle.readerFor('acme').count(scopeOf('lines', acme), { filter: everything })).to.equal(1)
    const writer = createSqliteIndexWriter({ folder: given.folder, limits })
    await writer.open('fixture-v1-002', fixture, epoch)
    const opened = [given.dayFile(), metaPath(given.folder, index)]
    expect(opened.map(timesOpen)).not.to.include(0)
    await promote(writer, 'fixture', 'fixture-v1-002')
    while (opened.some((file) => timesOpen(file) > 0)) await sleep(10)
    await writer.close()
    await idle.close()
  })

  it('say clearly that they are closed', async () => {
    await threads.close()
    expect(await count('acme', acme).catch((error: unknown) => error)).to.be.instanceOf(TransientError)
  })
})
