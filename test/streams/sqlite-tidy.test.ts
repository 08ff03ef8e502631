import { statSync } from 'node:fs'
import { crc32 } from 'node:zlib'
import { DatabaseSync } from 'node:sqlite'
import { expect } from 'chai'
import { createLogReader } from '#streams/sqlite/reader.ts'
import { createLogWriter, type LogWriter } from '#streams/sqlite/writer.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import { makeLogFolder, type LogFolder } from '../support/log-folder.ts'

const busyTimeoutMs = 2_000
const checkpointBytes = 64 * 1024

/** Appends an event with a payload of so many bytes. */
function putTo(writer: LogWriter, id: string, bytes: number): void {
  const payload = new Uint8Array(bytes)
  const event = { id, workspaceId: workspaceIdOf('acme'), isErasing: false, receivedAt: 0, subject: null, bytes }
  const header = JSON.stringify({ id })
  writer.commit({ calls: [{ expected: null, events: [{ ...event, header, crc: crc32(payload) }] }], payloads: payload })
  writer.tidy()
}

describe('tidying a log in SQLite while somebody reads it for long', () => {
  const { prepare } = DatabaseSync.prototype
  let log: LogFolder
  let writer: LogWriter
  let reader: DatabaseSync
  /** How long each checkpoint that waits for readers may, ms. */
  let patience: unknown[]
  let written = 0

  beforeEach(async () => {
    patience = []
    log = await makeLogFolder()
    writer = createLogWriter({ file: log.file, partition: '0', busyTimeoutMs, checkpointBytes }, () => undefined)
    DatabaseSync.prototype.prepare = function (this: DatabaseSync, sql, ...rest) {
      if (sql.includes('RESTART')) patience.push(prepare.call(this, 'PRAGMA busy_timeout').get()?.['timeout'])
      return prepare.call(this, sql, ...rest)
    }
    put(1)
    reader = new DatabaseSync(log.file)
    reader.exec('BEGIN')
    reader.prepare('SELECT max(seq) FROM events').get()
  })
  afterEach(async () => {
    DatabaseSync.prototype.prepare = prepare
    reader.close()
    writer.close()
    await log.remove()
  })

  const put = (bytes: number): void => putTo(writer, `acme.test.${++written}`, bytes)

  it('waits for the reader only for a moment, and again only when as much has come as makes a checkpoint due', () => {
    put(16 * checkpointBytes)
    expect(patience).to.have.length(1)
    for (let index = 0; index < 4; index++) put(checkpointBytes / 16)
    expect(patience, 'half of that is not enough').to.have.length(1)
    for (let index = 0; index < 16; index++) put(checkpointBytes / 16)
    expect(patience.length).to.be.within(2, 4)
    for (const ms of patience) expect(Number(ms)).to.be.below(100)
    const tries = patience.length
    reader.exec('COMMIT')
    for (let index = 0; index < 16; index++) put(checkpointBytes / 16)
    expect(patience.length, 'it could').to.equal(tries + 1)
  })
})

describe('tidying a log in SQLite whose writers are replaced before a checkpoint is due', () => {
  it('keeps the WAL as short as one writer would', async () => {
    const log = await makeLogFolder()
    const open = (): LogWriter =>
      createLogWriter({ file: log.file, partition: '0', busyTimeoutMs, checkpointBytes }, () => undefined)
    let writer = open()
    for (let written = 0; written < 40; written++) {
      putTo(writer, `acme.test.${written}`, checkpointBytes / 8)
      // The next one is there before the last one goes, as where a worker takes over: SQLite tidies only when nobody is left.
      const next = open()
      writer.close()
      writer = next
    }
    const walBytes = statSync(`${log.file}-wal`).size
    writer.close()
    await log.remove()
    expect(walBytes).to.be.within(1, 4 * checkpointBytes)
  })
})

describe('tidying a log in SQLite on a full disk', () => {
  it('waits for room, also as it is closed: what it takes would be gone for all else, and nothing freed', async () => {
    const log = await makeLogFolder()
    let free = 1_100_000
    const open = (): LogWriter =>
      createLogWriter(
        { file: log.file, partition: '0', busyTimeoutMs, checkpointBytes, bytesLeft: () => free },
        () => undefined,
      )
    const [size, walSize] = [() => statSync(log.file).size, () => statSync(`${log.file}-wal`).size]
    let writer = open()
    putTo(writer, 'acme.test.0', 4 * checkpointBytes)
    const before = size()
    expect(before).to.be.below(checkpointBytes)
    writer.close()
    expect([size(), walSize() > 4 * checkpointBytes]).to.deep.equal([before, true])
    // As of a verb.
    const alone = createLogReader({ file: log.file, partition: '0' }, busyTimeoutMs, { bytesLeft: () => free })
    expect(alone.head()).to.be.above(0)
    alone.close()
    expect([size(), walSize() > 4 * checkpointBytes]).to.deep.equal([before, true])

    writer = open()
    free = 2_000_000
    putTo(writer, 'acme.test.1', 1)
    expect(size()).to.be.above(4 * checkpointBytes)
    putTo(writer, 'acme.test.2', 1)
    writer.close()
    expect(statSync(`${log.file}-wal`, { throwIfNoEntry: false })).to.equal(undefined)
    const kept = new DatabaseSync(log.file)
    expect(kept.prepare('SELECT count(*) AS events FROM events').get()).to.deep.include({ events: 3 })
    kept.close()
    await log.remove()
  })

  it('is not put off for ever by a disk that says less than it has, nor at all by one that says nothing', async () => {
    for (const [left, calls] of [
      [undefined, 2],
      [0, 20],
    ] as const) {
      const log = await makeLogFolder()
      const writer = createLogWriter(
        { file: log.file, partition: '0', busyTimeoutMs, checkpointBytes, bytesLeft: () => left },
        () => undefined,
      )
      const size = (): number => statSync(log.file).size
      for (let call = 1; call <= calls; call++) putTo(writer, `acme.test.${call}`, checkpointBytes)
      expect(size()).to.be.above(((calls - 2) * checkpointBytes) / 2)
      expect(size()).to.be.above(checkpointBytes)
      writer.close()
      await log.remove()
    }
  })
})
