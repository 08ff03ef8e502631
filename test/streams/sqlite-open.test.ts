import { once } from 'node:events'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Worker } from 'node:worker_threads'
import { expect } from 'chai'
import { PermanentError, TransientError } from '#src/lib/failure.ts'
import { pragma } from '#streams/sqlite/log-file.ts'
import { openForReading, openForWriting } from '#streams/sqlite/open-log.ts'
import { makeLogFolder, type LogFolder } from '../support/log-folder.ts'

describe('the file of a log that is opened', () => {
  let log: LogFolder
  beforeEach(async () => {
    log = await makeLogFolder()
  })
  afterEach(() => log.remove())

  const open = () => openForWriting({ file: log.file, partition: '0' }, 20)
  /** While another connection is at it. */
  const beside = <T>(begin: string, task: () => T): T => {
    const other = new DatabaseSync(log.file)
    try {
      other.exec(begin)
      return task()
    } finally {
      other.close()
    }
  }

  it('leaves no erased data in pages, and checkpoints to its writer', () => {
    const { database } = open()
    const set = ['secure_delete', 'wal_autocheckpoint', 'journal_size_limit'].map((name) => pragma(database, name))
    expect(set).to.deep.equal([2, 0, 64 * 1024 * 1024])
    database.close()
  })

  it('may be one that somebody writes to at the moment', () => {
    const { database, epoch } = open()
    database.close()
    const again = beside('BEGIN IMMEDIATE', open)
    expect(again.epoch).to.equal(epoch)
    expect(again.database.isTransaction).to.equal(false)
    again.database.close()
  })

  it('is waited for, where another one has it to itself, for as long as is said', () => {
    expect(() => beside('BEGIN EXCLUSIVE', open)).to.throw(TransientError)
  })

  it('is made once, by whichever thread is first of those that open it at once', async () => {
    const [threads, rounds] = [3, 10]
    const files = Array.from({ length: rounds }, (_, round) => join(dirname(log.file), `${round}.db`))
    const workerData = { files, threads, arrived: new Int32Array(new SharedArrayBuffer(4 * rounds)) }
    const program = new URL('programs/open-log.ts', import.meta.url)
    const ended = Array.from({ length: threads }, async () => {
      const worker = new Worker(program, { workerData })
      let failure: unknown
      worker.once('error', (error) => {
        failure = error
        // The others wait for it.
        workerData.arrived.fill(threads)
        for (let round = 0; round < rounds; round++) Atomics.notify(workerData.arrived, round)
      })
      await once(worker, 'exit')
      return failure
    })
    expect(await Promise.all(ended)).to.deep.equal([undefined, undefined, undefined])
  })

  it('is not made in a file that another program has marked, and has put nothing into yet', () => {
    for (const mark of ['user_version = 7', 'user_version = 0; PRAGMA application_id = 7']) {
      log.sql(`PRAGMA ${mark}`)
      expect(open, mark).to.throw(PermanentError, 'it is not a log of Throughline')
    }
  })

  it('is not taken for a log where another program counts its versions as we do', () => {
    for (const version of [0, 1, 2]) {
      log.sql(`CREATE TABLE IF NOT EXISTS meta (name, value); PRAGMA user_version = ${version}`)
      expect(open, `version ${version}`).to.throw(PermanentError, 'it is not a log of Throughline')
    }
  })

  it('is not written by a reader', () => {
    open().database.close()
    const { database } = openForReading({ file: log.file, partition: '0' }, 20)
    expect(() => database.exec('DELETE FROM events')).to.throw('readonly')
    database.close()
  })
})
