import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect } from 'chai'
import { limits } from '#src/config.ts'
import { positionStep } from '#src/events/envelope.ts'
import { PermanentError } from '#src/lib/failure.ts'
import { readQuarantines } from '#streams/sqlite/mending/quarantine.ts'
import { rowCrc } from '#streams/sqlite/row.ts'
import { createSqliteStream, openSqliteStreamReader } from '#streams/sqlite/stream.ts'
import { leaveHotJournal } from '#test/support/hot-journal.ts'
import {
  contentOf,
  fillSmall,
  openLog,
  openDamaged,
  pageBytes,
  sampleOf,
  type DamagedLog,
  type Files,
  type Sample,
} from './damaged-log.ts'
import { makeEvent, noon } from '../support/make-event.ts'
import { startProgram } from './programs/child.ts'
import { idsOf, readAll, rejection } from '../support/read-all.ts'

/** With pages in the middle of its file nought, which a look at its ends and here and there meets. */
function spoil({ db, wal }: Files): Files {
  const spoilt = Buffer.from(db)
  spoilt.fill(0, 4 * pageBytes, 6 * pageBytes)
  return { db: spoilt, wal }
}

describe('setting a damaged sqlite log aside', () => {
  let sample: Sample
  let log: DamagedLog
  before(async () => {
    sample = await sampleOf(fillSmall, { isKilled: true, checkpointBytes: 100_000 })
    expect(sample.wal.length).to.be.greaterThan(0)
  })
  beforeEach(async () => {
    log = await openDamaged(spoil(sample))
  })
  afterEach(() => log.remove())

  class Killed extends Error {}
  /** Mends until the step of this number, and dies there. Whether it came to that. */
  async function killedAt(number: number): Promise<boolean> {
    let steps = 0
    const onStep = (): void => {
      if (steps++ === number) throw new Killed()
    }
    try {
      await log.mend({ onStep })
      return false
    } catch (error) {
      if (error instanceof Killed) return true
      throw error
    }
  }
  const stepsOf = async (): Promise<readonly string[]> => {
    const steps: string[] = []
    const other = await openDamaged(spoil(sample))
    await other.mend({ onStep: (step) => steps.push(step) })
    await other.remove()
    return steps
  }

  it('comes to the same end wherever it is killed, once or twice', async () => {
    await log.remove()
    const spoilt = spoil(sample)
    const whole = await openDamaged(spoilt)
    await whole.mend()
    const expected = await contentOf(whole.file)
    await whole.remove()
    const steps = await stepsOf()
    expect(steps).to.have.length.greaterThan(9)
    for (const [first, name] of steps.entries()) {
      for (let second = 0; second <= steps.length; second += 3) {
        const what = `killed before "${name}", then at step ${second}`
        log = await openDamaged(spoilt)
        expect(await killedAt(first), what).to.equal(true)
        await killedAt(second)
        expect(existsSync(log.file) || existsSync(`${log.file}.moving`), `${what}: never nothing`).to.equal(true)
        const { verdict } = await log.mend()
        expect(verdict.kind, what).to.equal('sound')
        expect(await contentOf(log.file), what).to.deep.equal(expected)
        const folders = readdirSync(log.quarantine)
        expect(folders, what).to.have.length(1)
        const folder = join(log.quarantine, folders[0] ?? '')
        expect(readFileSync(join(folder, 'log.db')).equals(spoilt.db), what).to.equal(true)
        expect(readFileSync(join(folder, 'log.db-wal')).equals(spoilt.wal), what).to.equal(true)
        expect(
          readdirSync(log.folder).filter((left) => /\.(next|moving|suspect)/.test(left)),
          what,
        ).to.deep.equal([])
        await log.remove()
      }
    }
    log = await openDamaged(spoilt)
  })

  it('begins anew when somebody has written to the log meanwhile', async () => {
    await log.remove()
    log = await openDamaged({ db: spoil(sample).db, wal: Buffer.alloc(0) })
    let calls = 0
    const settle = async (): Promise<void> => {
      if (calls++ > 0) return
      const bytes = readFileSync(log.file)
      writeFileSync(log.file, Buffer.concat([bytes, Buffer.alloc(pageBytes)]))
    }
    const { mended } = await log.mend({ settle })
    expect(calls).to.equal(2)
    expect(readFileSync(join(mended?.folder ?? '', 'log.db')).length, 'as it was in the end').to.equal(
      sample.db.length + pageBytes,
    )
  })

  it('knows its ids again for the hour in which they may come again', async () => {
    const minutely = await sampleOf(
      async (stream) => {
        for (let call = 0; call < 30; call++) {
          const receivedAt = noon + call * 60_000
          await stream.append([0, 1, 2, 3].map((n) => makeEvent(`call-${call}-${n}`, { receivedAt })))
        }
      },
      { isKilled: false },
    )
    const damaged = await openDamaged(spoil(minutely))
    expect((await damaged.mend()).mended?.report?.lost).to.be.greaterThan(0)
    const stream = await openLog(damaged.file)
    const kept = await readAll(stream)
    expect((await stream.append(kept)).duplicates).to.equal(kept.length)
    await stream.close()
    await damaged.remove()
  })

  it('gives the new log to who puts it in order before it comes into its place', async () => {
    await log.mend({
      settle: async ({ file, partition }) => {
        const stream = await createSqliteStream({ file, partition, thread: false, limits })
        await stream.append([makeEvent('settled')])
        await stream.close()
      },
    })
    const ids = await contentOf(log.file)
    expect(ids.at(-1)).to.match(/settled$/)
  })
})

describe('a damaged sqlite log whose rest must not come into its place', () => {
  it('stays where it is', async () => {
    const sample = await sampleOf(fillSmall, { isKilled: false })
    const log = await openDamaged(spoil(sample))
    const settle = async (): Promise<void> => {
      throw new PermanentError({ operation: 'start', subject: 'it' })
    }
    expect((await rejection(log.mend({ settle }))).message).to.equal('start it')
    expect(readFileSync(log.file).equals(spoil(sample).db)).to.equal(true)
    expect(readdirSync(log.folder)).to.deep.equal(['log.db'])
    await log.remove()
  })
})

describe('a damaged sqlite log on a disk that takes no more', () => {
  it('stays where it is until there is room', async () => {
    const sample = await sampleOf(fillSmall, { isKilled: false })
    const damaged = spoil(sample)
    const log = await openDamaged(damaged)
    const refused = startProgram('mend.ts', [log.file, log.quarantine], 80)
    await refused.ended
    expect(refused.lines.join('\n')).to.match(/^refused (?:Transient|Permanent)Error keep what can be read of log/)
    expect(readFileSync(log.file).equals(damaged.db)).to.equal(true)
    expect(readdirSync(log.folder)).to.deep.equal(['log.db'])
    const mended = startProgram('mend.ts', [log.file, log.quarantine])
    await mended.ended
    expect(mended.lines).to.have.length(1)
    expect(mended.lines[0]).to.match(/^kept \d+$/)
    expect(await contentOf(log.file)).to.have.length(Number(mended.lines[0]?.slice('kept '.length)))
    await log.remove()
  })
})

describe('a quarantine', () => {
  it('is told also where its report is gone or is none, and not where nothing lies in it', async () => {
    const log = await openDamaged(spoil(await sampleOf(fillSmall, { isKilled: false })))
    const { mended } = await log.mend()
    const report = join(mended?.folder ?? '', 'report.json')
    expect(readQuarantines(log.quarantine)).to.deep.equal([mended])
    for (const text of ['', '{}', 'null', '{"name":"log","at":"now","reason":"","kept":1,"lost":1}']) {
      writeFileSync(report, text)
      expect(readQuarantines(log.quarantine), text).to.deep.equal([{ folder: mended?.folder, report: undefined }])
    }
    rmSync(join(mended?.folder ?? '', 'log.db'))
    expect(readQuarantines(log.quarantine)).to.deep.equal([])
    rmSync(log.quarantine, { recursive: true })
    expect(readQuarantines(log.quarantine)).to.deep.equal([])
    await log.remove()
  })
})

describe('what was erased from a damaged sqlite log', () => {
  it('does not come back from an older image of its page', async () => {
    const sample = await sampleOf(fillSmall, { isKilled: true })
    expect(sample.db.includes('payload of call-1-0'), 'the image of before').to.equal(true)
    const before = await openDamaged(sample)
    const database = new DatabaseSync(before.file)
    database.exec('PRAGMA wal_autocheckpoint = 0')
    const erase = database.prepare(
      "UPDATE events SET crc = ?, subject = NULL, header = '', payload = x'' WHERE seq = 5",
    )
    erase.run(rowCrc(5, ''))
    const files = { db: readFileSync(before.file), wal: readFileSync(`${before.file}-wal`) }
    database.close()
    await before.remove()
    expect(files.db.includes('payload of call-1-0')).to.equal(true)
    const log = await openDamaged(files)
    log.suspect()
    expect((await log.mend()).mended, 'it is no damage').to.equal(undefined)
    await log.remove()
    // Pages that hold others than the one that was erased.
    const db = Buffer.from(files.db)
    for (const name of ['call-6-2', 'call-12-2']) {
      const at = db.indexOf(`payload of ${name}`)
      db.fill(0, at - (at % pageBytes), at - (at % pageBytes) + pageBytes)
    }
    const damaged = await openDamaged({ ...files, db })
    const { mended } = await damaged.mend()
    expect(mended).to.not.equal(undefined)
    const content = await contentOf(damaged.file)
    expect(content.filter((line) => line.endsWith('call-1-0'))).to.deep.equal([])
    expect(content.filter((line) => line.endsWith('call-1-1'))).to.have.length(1)
    expect(mended?.report?.gaps.some(({ from, to }) => from <= 5 * positionStep && to >= 5 * positionStep)).to.equal(
      false,
    )
    await damaged.remove()
  })
})

describe('what was cut from a damaged sqlite log', () => {
  it('does not come back from pages that still hold it', async () => {
    const cut = 20
    const sample = await sampleOf(
      async (stream) => {
        await fillSmall(stream)
        await stream.cut(cut * positionStep)
      },
      { isKilled: true, checkpointBytes: 400_000 },
    )
    expect(sample.db.includes('payload of call-1-0')).to.equal(true)
    const db = Buffer.from(sample.db)
    const at = db.indexOf('payload of call-12-2')
    db.fill(0, at - (at % pageBytes), at - (at % pageBytes) + pageBytes)
    const log = await openDamaged({ ...sample, db })
    const { mended } = await log.mend()
    const content = await contentOf(log.file)
    expect(content[0]).to.match(new RegExp(`^${(cut + 1) * positionStep} `))
    expect(mended?.report?.gaps[0]?.from, 'nor is it told as lost').to.be.greaterThan((cut + 1) * positionStep)
    await log.remove()
  })
})

describe('a look at a sqlite log before it is opened', () => {
  let sample: Sample
  let log: DamagedLog
  before(async () => {
    sample = await sampleOf(fillSmall, { isKilled: false })
  })
  beforeEach(async () => {
    log = await openDamaged(sample)
  })
  afterEach(() => log.remove())

  const change = (sql: string): void => {
    const database = new DatabaseSync(log.file)
    database.exec(sql)
    database.close()
  }
  /** What was set aside, and what is left. */
  async function expectMended(reason: RegExp, kept: number): Promise<void> {
    const { mended } = await log.mend()
    expect(mended?.report?.reason).to.match(reason)
    expect(mended?.report?.kept).to.equal(kept)
    expect(await contentOf(log.file)).to.have.length(kept)
  }

  it('leaves every byte of a sound one as it is, with or without a WAL', async () => {
    const killed = await sampleOf(fillSmall, { isKilled: true })
    for (const files of [sample, killed]) {
      const other = await openDamaged(files)
      other.suspect()
      expect((await other.mend()).verdict).to.include({ kind: 'sound', head: 120 * positionStep })
      expect(readFileSync(other.file).equals(files.db)).to.equal(true)
      if (files.wal.length > 0) expect(readFileSync(`${other.file}-wal`).equals(files.wal)).to.equal(true)
      expect(existsSync(`${other.file}.suspect`), 'it is cleared').to.equal(false)
      expect(existsSync(other.quarantine)).to.equal(false)
      await other.remove()
    }
  })

  it('refuses one of a newer version, of another program or partition, and leaves it where it is', async () => {
    const refused: readonly (readonly [sql: string, message: RegExp])[] = [
      ['PRAGMA user_version = 2', /newer version.*upgrade/],
      ["UPDATE meta SET value = '7' WHERE name = 'partition'", /it holds partition 7, not 0/],
      [
        'PRAGMA application_id = 5; PRAGMA user_version = 9; ALTER TABLE events RENAME TO theirs',
        /not a log of Throughline/,
      ],
    ]
    for (const [sql, message] of refused) {
      await log.remove()
      log = await openDamaged(sample)
      change(sql)
      const failure = await rejection(log.mend())
      expect(failure, sql).to.be.instanceOf(PermanentError)
      expect(failure.message).to.match(message)
      expect(existsSync(log.quarantine)).to.equal(false)
    }
  })

  it('takes for damage what has lost its tables, its entries or all of its bytes', async () => {
    change('DROP TABLE ids')
    await expectMended(/ids/, 120)
    change("DELETE FROM meta WHERE name = 'epoch'")
    await expectMended(/epoch/, 120)
    change('PRAGMA application_id = 77')
    await expectMended(/header/, 120)
    writeFileSync(log.file, '')
    await expectMended(/nothing is in it/, 0)
    writeFileSync(log.file, 'not a database at all')
    await expectMended(/begin as a database/, 0)
    expect(readdirSync(log.quarantine)).to.have.length(5)
  })

  it('takes one that is being made for a new one', async () => {
    writeFileSync(log.file, '')
    expect((await log.mend({ isInUse: false })).verdict).to.deep.equal({ kind: 'new' })
    rmSync(log.file)
    expect((await log.mend()).verdict).to.deep.equal({ kind: 'absent' })
    leaveHotJournal(log.file)
    expect((await log.mend({ isInUse: false })).verdict).to.deep.equal({ kind: 'new' })
    expect(existsSync(log.quarantine)).to.equal(false)
  })

  it('knows that the tail is gone by who had it, of this epoch', async () => {
    const known = 130 * positionStep
    const other = await log.mend({ knownHead: (epoch) => (epoch === 'another' ? known : 0) })
    expect(other.mended).to.equal(undefined)
    const { mended } = await log.mend({ knownHead: (epoch) => (epoch === sample.epoch ? known : 0) })
    expect(mended?.report?.reason).to.include('it ends at event 120, and event 130 was in it')
    expect(mended?.report).to.deep.include({ kept: 120, lost: 10, gaps: [{ from: 121 * positionStep, to: known }] })
  })

  it('counts as lost what others had of one that does not say any more which it was', async () => {
    writeFileSync(log.file, '')
    const { mended } = await log.mend({ knownHead: (epoch) => (epoch === undefined ? 120 * positionStep : 0) })
    const gaps = [{ from: positionStep, to: 120 * positionStep }]
    expect(mended?.report).to.deep.include({ kept: 0, lost: 120, gaps })
  })

  it('sees that its file ends too early, wherever, though the WAL says how long it is', async () => {
    const killed = await sampleOf(
      async (stream) => {
        for (let call = 0; call < 12; call++) {
          const payload = Buffer.from(Array.from({ length: 40_000 }, (_, n) => (n * 7_919 + call * 104_729) % 251))
          await stream.append([makeEvent(`large-${call}`, { payload }), makeEvent(`small-${call}`)])
        }
      },
      { isKilled: true, checkpointBytes: 300_000 },
    )
    for (let pages = 1; pages <= 20; pages++) {
      const files = { ...killed, db: killed.db.subarray(0, killed.db.length - pages * pageBytes) }
      const other = await openDamaged(files)
      const { mended } = await other.mend()
      const content = await contentOf(other.file)
      expect(content, `without ${pages} pages`).to.have.length(mended?.report?.kept ?? killed.events.length)
      await other.remove()
    }
  })

  it('throws, and moves nothing, when the disk fails', async () => {
    // What is no file cannot be read as one: EISDIR stands for EIO.
    mkdirSync(`${log.file}-wal`)
    const failure = await rejection(log.mend())
    expect(failure).to.be.instanceOf(PermanentError)
    expect(existsSync(log.quarantine)).to.equal(false)
    expect(existsSync(log.file)).to.equal(true)
  })

  it('is thorough when anybody has met damage: who reads, and who writes', async () => {
    const at = sample.db.indexOf('payload of call-5-1')
    expect(at).to.be.greaterThan(0)
    const db = Buffer.from(sample.db)
    db.fill(0, at, at + 3)
    for (const meet of [
      async (): Promise<void> => {
        const reader = await openSqliteStreamReader({ file: log.file, partition: '0' })
        expect(await reader.read(0, 100), 'what is whole before the damage').to.have.length(21)
        expect(existsSync(`${log.file}.suspect`), 'nobody was told of it yet').to.equal(false)
        expect((await rejection(readAll(reader))).message).to.match(/checksum of its payload.*start it again/)
        await reader.close()
      },
      async (): Promise<void> => {
        const stream = await openLog(log.file)
        expect((await rejection(readAll(stream))).message).to.match(/start it again/)
        await stream.close()
      },
    ]) {
      await log.remove()
      log = await openDamaged({ db, wal: sample.wal })
      expect((await log.mend()).mended, 'a look here and there does not meet it').to.equal(undefined)
      await meet()
      expect(existsSync(`${log.file}.suspect`)).to.equal(true)
      const { mended } = await log.mend()
      expect(mended?.report).to.include({ kept: 119, lost: 1 })
      const stream = await openLog(log.file)
      expect(idsOf(await readAll(stream))).to.have.length(119)
      await stream.close()
    }
  })
})
