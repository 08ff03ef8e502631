import { spawnSync } from 'node:child_process'
import { chmod, copyFile, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect } from 'chai'
import { limits } from '#src/config.ts'
import { PermanentError, TransientError } from '#src/lib/failure.ts'
import { openForWriting } from '#streams/sqlite/open-log.ts'
import { openSqliteStreamReader } from '#streams/sqlite/stream.ts'
import { idsOf, never, readAll, rejection } from '../support/read-all.ts'
import { timesOpen } from '#test/support/sqlite-fixture.ts'
import { leaveHotJournal } from '#test/support/hot-journal.ts'
import { unprivileged } from '#test/support/unprivileged.ts'
import { makeLogFolder, type LogFolder } from '../support/log-folder.ts'
import { makeEvent, makeEvents, noon } from '../support/make-event.ts'
import { startProgram } from './programs/child.ts'
import { commitsInWal } from './wal.ts'

const hourMs = 3_600_000
/** So that only a message from another thread can wake, not a look at the file. */
const noPolling = { pollMs: 1_000_000_000 }

describe('the sqlite stream', () => {
  let log: LogFolder
  beforeEach(async () => {
    log = await makeLogFolder()
  })
  afterEach(() => log.remove())

  it('tells a reader of a log whose making was killed half way that it is not there yet', async () => {
    leaveHotJournal(log.file)
    expect(await rejection(openSqliteStreamReader({ file: log.file, partition: '0' }))).to.be.instanceOf(TransientError)
  })

  describe('group commit', () => {
    for (const thread of [false, true]) {
      it(`shares one commit among all that wait (thread: ${thread})`, async () => {
        const stream = await log.open({ thread })
        await stream.append([makeEvent('first')])
        const before = commitsInWal(log.file)
        await Promise.all(makeEvents(200).map((event) => stream.append([event])))
        expect(commitsInWal(log.file) - before).to.equal(1)
        for (const event of makeEvents(3, 'alone')) await stream.append([event])
        expect(commitsInWal(log.file) - before).to.equal(4)
        await stream.close()
      })
    }

    it('bounds what shares a commit by events and by bytes, and keeps the order', async () => {
      const stream = await log.open({ limits: { ...limits, appendBatchEventsMax: 10, appendBatchBytesMax: 1_500 } })
      const before = commitsInWal(log.file)
      const payload = Buffer.alloc(700)
      const events = [...makeEvents(25), ...[1, 2, 3].map((index) => makeEvent(`large-${index}`, { payload }))]
      await Promise.all(events.map((event) => stream.append([event])))
      // 10, 10, then 5 small ones and two large ones that fit beside them, then the last.
      expect(commitsInWal(log.file) - before).to.equal(4)
      expect((await readAll(stream)).map(({ id }) => id)).to.deep.equal(events.map(({ id }) => id))
      await stream.append(makeEvents(50, 'one call'))
      expect(commitsInWal(log.file) - before, 'a call is never cut').to.equal(5)
      await stream.close()
    })

    it('writes nothing for repeats alone', async () => {
      const stream = await log.open()
      await stream.append([makeEvent('same')])
      const before = commitsInWal(log.file)
      await stream.append([makeEvent('same')])
      expect(commitsInWal(log.file)).to.equal(before)
      await stream.close()
    })
  })

  describe('its queue', () => {
    it('refuses with TransientError what is too much, and takes more when the rest is written', async () => {
      const tests = [
        { ...limits, appendQueueEventsMax: 2 },
        { ...limits, appendQueueBytesMax: 45 },
      ]
      for (const [index, limits] of tests.entries()) {
        const stream = await log.open({ limits })
        for (const time of ['first', 'again']) {
          const taken = makeEvents(2, `${time}${index}`).map((event) => stream.append([event]))
          expect(await rejection(stream.append([makeEvent(`refused-${index}`)]))).to.be.instanceOf(TransientError)
          await Promise.all(taken)
        }
        await stream.close()
      }
      const reader = await openSqliteStreamReader({ file: log.file, partition: '0' })
      expect(await readAll(reader)).to.have.length(8)
      await reader.close()
    })

    it('has room again for what could not be written', async () => {
      const two = { ...limits, appendQueueEventsMax: 2, appendQueueBytesMax: 45 }
      const stream = await log.open({ limits: two, busyTimeoutMs: 10 })
      const another = new DatabaseSync(log.file)
      another.exec('BEGIN IMMEDIATE')
      for (const name of ['one', 'two']) {
        const failed = await Promise.all(makeEvents(2, name).map((event) => rejection(stream.append([event]))))
        for (const { message } of failed) expect(message).to.include('another process is writing')
      }
      another.close()
      await stream.append(makeEvents(2))
      expect(await readAll(stream)).to.have.length(2)
      await stream.close()
    })

    it('takes one call that is larger than itself when nothing waits', async () => {
      const stream = await log.open({ limits: { ...limits, appendQueueEventsMax: 2 } })
      await stream.append(makeEvents(5))
      expect(await readAll(stream)).to.have.length(5)
      await stream.close()
    })
  })

  describe('its file', () => {
    it('is written with WAL and an fsync at each commit', () => {
      const { database } = openForWriting({ file: log.file, partition: '0' }, 100)
      expect(database.prepare('PRAGMA journal_mode').get()).to.deep.include({ journal_mode: 'wal' })
      expect(database.prepare('PRAGMA synchronous').get()).to.deep.include({ synchronous: 2 })
      database.close()
    })

    it('of a newer version is refused, for writing and for reading', async () => {
      await (await log.open()).close()
      log.sql('PRAGMA user_version = 2')
      for (const thread of [false, true]) {
        const failure = await rejection(log.open({ thread }))
        expect(failure).to.be.instanceOf(PermanentError)
        expect(failure.message).to.contain('newer version').and.contain('upgrade')
      }
      const reading = await rejection(openSqliteStreamReader({ file: log.file, partition: '0' }))
      expect(reading).to.be.instanceOf(PermanentError)
    })

    it('of another program, of another partition, or no database at all is refused', async () => {
      log.sql('CREATE TABLE theirs (id)')
      expect((await rejection(log.open())).message).to.contain('not a log of Throughline')
      await writeFile(log.file, 'no database')
      expect(await rejection(log.open())).to.be.instanceOf(PermanentError)
      await writeFile(log.file, '')
      await (await log.open()).close()
      expect((await rejection(log.open({ partition: '1' }))).message).to.contain('holds partition 0, not 1')
    })

    it('is not kept open where it is refused', async () => {
      await (await log.open()).close()
      for (const thread of [false, true]) await rejection(log.open({ partition: '1', thread }))
      await rejection(openSqliteStreamReader({ file: log.file, partition: '1' }))
      expect(timesOpen(log.file)).to.equal(0)
    })

    it('is refused when it is opened to be written, not at the first append, where its user may only read it', async () => {
      await (await log.open()).close()
      await chmod(dirname(log.file), 0o777)
      await chmod(log.file, 0o444)
      const open = () => unprivileged(() => openForWriting({ file: log.file, partition: '0' }, 100))
      expect(open).to.throw(PermanentError, /log\.db: .*this user may not write it/)
    })

    it('is refused by the name of a file beside it where that is the one: SQLite makes it with the mode of the log', async () => {
      await (await log.open()).close()
      await chmod(dirname(log.file), 0o777)
      const code = `import { openForWriting } from '#streams/sqlite/open-log.ts'
        openForWriting({ file: process.argv[1], partition: '0' }, 100).database.close()`
      // A process of its own: what a user may do is asked of the system for the one who has started it.
      const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}
      const argv = ['--input-type=module', '-e', code, log.file]
      const said = (): string => spawnSync(process.execPath, argv, { encoding: 'utf8', ...user }).stderr
      await chmod(log.file, 0o444)
      expect(said()).to.match(/log\.db: .*this user may not write it/)
      await chmod(log.file, 0o666)
      expect(said()).to.match(/log\.db-shm: .*this user may not write it/)
      await chmod(`${log.file}-shm`, 0o666)
      expect(said()).to.equal('')
    })

    it('is not made by a reader', async () => {
      expect(await rejection(openSqliteStreamReader({ file: log.file, partition: '0' }))).to.be.instanceOf(
        PermanentError,
      )
      await writeFile(log.file, '')
      expect(await rejection(openSqliteStreamReader({ file: log.file, partition: '0' }))).to.be.instanceOf(
        TransientError,
      )
    })

    it('is emptied of its WAL when enough has come together, beside a reader', async () => {
      const stream = await log.open({ checkpointBytes: 1 })
      const reader = await openSqliteStreamReader({ file: log.file, partition: '0' })
      for (const event of makeEvents(5)) await stream.append([event])
      await copyFile(log.file, `${log.file}.alone`)
      const alone = new DatabaseSync(`${log.file}.alone`, { readOnly: true })
      expect(alone.prepare('SELECT count(*) AS events FROM events').get()?.['events']).to.be.at.least(4)
      alone.close()
      expect(await readAll(reader)).to.have.length(5)
      await reader.close()
      await stream.close()
    })

    it('remembers them by the earliest event of a commit', async () => {
      const stream = await log.open()
      const first = makeEvent('first')
      await stream.append([first])
      const later = (hours: number) => makeEvent(`later-${hours}`, { receivedAt: noon + hours * hourMs })
      await stream.append([later(0.5), later(5)])
      expect((await stream.append([first])).duplicates).to.equal(1)
      await stream.close()
    })

    it('knows them as every version before did: a request that is told again across an upgrade is still a repeat', async () => {
      const stream = await log.open()
      await stream.append([makeEvent('one')])
      await stream.close()
      const database = new DatabaseSync(log.file)
      const stored = { ...database.prepare('SELECT bucket, hash, seq FROM ids').get() }
      database.close()
      expect(stored).to.deep.equal({ bucket: 997_368, hash: 175_293_408_626_109, seq: 1 })
    })

    it('forgets as many as come, however many share a commit', async () => {
      const stream = await log.open()
      await stream.append(makeEvents(2_000))
      const later = makeEvents(2_000).map((_, n) => makeEvent(`later-${n}`, { receivedAt: noon + 5 * hourMs }))
      await stream.append(later)
      const database = new DatabaseSync(log.file)
      expect(database.prepare('SELECT count(*) AS ids FROM ids').get()).to.deep.include({ ids: 2_000 })
      database.close()
      await stream.close()
    })

    it('forgets in the end what is too much for one commit', async () => {
      const stream = await log.open()
      await stream.append(makeEvents(2_000))
      for (let n = 0; n < 10; n++) await stream.append([makeEvent(`later-${n}`, { receivedAt: noon + 5 * hourMs })])
      const database = new DatabaseSync(log.file)
      expect(database.prepare('SELECT count(*) AS ids FROM ids').get()).to.deep.include({ ids: 10 })
      database.close()
      await stream.close()
    })

    it('remembers ids for an hour and a little more, and no longer; also after a clock was ahead', async () => {
      const stream = await log.open()
      await stream.append([makeEvent('ahead', { receivedAt: noon + 1_000 * hourMs })])
      for (let half = 0; half < 20; half++) {
        const receivedAt = noon + (half * hourMs) / 2
        await stream.append(Array.from({ length: 100 }, (_, index) => makeEvent(`${half}-${index}`, { receivedAt })))
      }
      await stream.close()
      const database = new DatabaseSync(log.file)
      const { ids, oldest, newest } =
        database
          .prepare('SELECT count(*) AS ids, min(bucket) AS oldest, max(bucket) AS newest FROM ids WHERE bucket < ?')
          .get((2 * noon) / hourMs + 1_000) ?? {}
      database.close()
      expect([ids, Number(newest) - Number(oldest)]).to.deep.equal([400, 3])
    })
  })

  it('takes an id for new whose hash is that of another', async () => {
    const stream = await log.open()
    await stream.append([makeEvent('one')])
    await stream.append([makeEvent('two')])
    // Now the hash of `two` leads to `one`, and `two` itself is not there.
    log.sql('UPDATE ids SET seq = 1 WHERE seq = 2; DELETE FROM events WHERE seq = 2')
    expect(await stream.find([makeEvent('two').id], noon)).to.have.property('size', 0)
    expect((await stream.append([makeEvent('two')])).duplicates).to.equal(0)
    expect((await readAll(stream)).map(({ id }) => id)).to.deep.equal(['acme.traces.one', 'acme.traces.two'])
    await stream.close()
  })

  it('refuses a repeat of an event whose header is damaged, alone', async () => {
    const stream = await log.open()
    await stream.append([makeEvent('damaged')])
    log.sql(`UPDATE events SET header = 'damaged'`)
    const outcomes = await Promise.allSettled([
      stream.append([makeEvent('damaged')]),
      stream.append([makeEvent('whole')]),
    ])
    expect(outcomes.map(({ status }) => status)).to.deep.equal(['rejected', 'fulfilled'])
    expect((outcomes[0] as PromiseRejectedResult).reason).to.be.instanceOf(PermanentError)
    await stream.close()
  })

  it('stays shut after an error on the way to the disk though the cause has passed, until it is opened anew', async () => {
    const broken: string[] = []
    const stream = await log.open({ onBroken: ({ name }) => broken.push(name) })
    log.sql('ALTER TABLE ids RENAME TO gone')
    expect(await rejection(stream.append([makeEvent('one')]))).to.be.instanceOf(TransientError)
    log.sql('ALTER TABLE gone RENAME TO ids')
    const failure = await rejection(stream.append([makeEvent('one')]))
    expect(failure).to.be.instanceOf(TransientError)
    expect(failure.message).to.contain('open it anew')
    expect([broken, await stream.head()]).to.deep.equal([['TransientError'], 0])
    await stream.close()
    const again = await log.open()
    await again.append([makeEvent('one')])
    await again.close()
  })

  it('names the event that is missing', async () => {
    const stream = await log.open()
    const { events } = await stream.append(makeEvents(3))
    log.sql('DELETE FROM events WHERE seq = 2')
    const failure = await rejection(stream.read(events[0]?.position ?? 0, 10))
    expect(failure.message).to.contain('event 2').and.contain('missing: the next one is 3')
    await stream.close()
  })

  describe('cutting off its beginning', () => {
    const rows = (): number => {
      const database = new DatabaseSync(log.file, { timeout: 2_000 })
      const found = database.prepare('SELECT count(*) AS count FROM events').get()
      database.close()
      return Number(found?.['count'])
    }

    it('removes more than one step does, and a hole behind the cut is still found', async () => {
      const stream = await log.open()
      const { events } = await stream.append(makeEvents(1_300))
      await stream.cut(events[1_289]?.position ?? 0)
      expect([rows(), (await readAll(stream)).length]).to.deep.equal([10, 10])
      log.sql('DELETE FROM events WHERE seq = 1291')
      expect((await rejection(stream.read(0, 10))).message).to.contain('missing: the next one is 1292')
      await stream.close()
    })

    it('is whole for readers when it was broken off, and the rest is done by the next one', async () => {
      const stream = await log.open()
      const { events } = await stream.append(makeEvents(4).map((event) => ({ ...event, subject: event.id })))
      log.sql("INSERT INTO meta (name, value) VALUES ('cut', '2')")
      expect(idsOf(await readAll(stream))).to.deep.equal(['acme.traces.event-2', 'acme.traces.event-3'])
      expect(await stream.first()).to.deep.include({ position: events[2]?.position, isCut: true })
      expect(await stream.last('acme.traces.event-1')).to.equal(undefined)
      const anew = [makeEvent('anew', { subject: 'acme.traces.event-1' })]
      await stream.append(anew, { subject: 'acme.traces.event-1', position: 0 })
      expect(rows()).to.equal(5)
      await stream.cut(0)
      expect(rows()).to.equal(3)
      await stream.close()
    })
  })

  describe('a reader', () => {
    it('hears at once of what another thread writes', async () => {
      const stream = await log.open({ thread: true, ...noPolling })
      const reader = await openSqliteStreamReader({ file: log.file, partition: '0', ...noPolling })
      const waits = [reader.changed(0, never()), stream.changed(0, never())]
      await stream.append([makeEvent('one')])
      await Promise.all(waits)
      expect(await readAll(reader)).to.have.length(1)
      await reader.close()
      await stream.close()
    })

    it('cannot append', async () => {
      await (await log.open()).close()
      const reader = await openSqliteStreamReader({ file: log.file, partition: '0' })
      expect(await rejection(reader.append([makeEvent('one')]))).to.be.instanceOf(PermanentError)
      expect(await rejection(reader.cut(0))).to.be.instanceOf(PermanentError)
      await reader.close()
      expect(await rejection(reader.head())).to.be.instanceOf(TransientError)
    })
  })

  describe('beside another process', () => {
    it('sees what that one appends, and shares the file with it', async () => {
      const stream = await log.open({ thread: true })
      const heard = stream.changed(0, never())
      const child = startProgram('append.ts', [log.file, 'theirs', '50', 'here'])
      await heard
      await Promise.all(makeEvents(50, 'ours').map((event) => stream.append([event])))
      await child.ended
      const all = await readAll(stream)
      expect(child.lines).to.have.length(50)
      expect(new Set(all.map(({ id }) => id)).size).to.equal(100)
      expect(all.map(({ position }) => position / 4096)).to.deep.equal(all.map((_, index) => index + 1))
      await stream.close()
    })

    it('gives up with TransientError on one that keeps the file, and goes on afterwards', async () => {
      const stream = await log.open({ busyTimeoutMs: 1 })
      const other = new DatabaseSync(log.file)
      other.exec('BEGIN IMMEDIATE')
      const failure = await rejection(stream.append([makeEvent('one')]))
      expect(failure).to.be.instanceOf(TransientError)
      expect(failure.message).to.contain('another process')
      other.exec('ROLLBACK')
      other.close()
      await stream.append([makeEvent('one')])
      await stream.close()
    })
  })
})
