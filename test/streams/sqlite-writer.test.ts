import { expect } from 'chai'
import { copyFileSync, existsSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { crc32 } from 'node:zlib'
import { beforeAll as beforeEvents, positionStep } from '#src/events/envelope.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import { TransientError } from '#src/lib/failure.ts'
import { suspicionOf } from '#streams/sqlite/suspicion.ts'
import { createLogWriter, type LogWriter } from '#streams/sqlite/writer.ts'
import type { Outcome, PackedCall } from '#streams/sqlite/write-group.ts'
import { makeLogFolder, type LogFolder } from '../support/log-folder.ts'

const subject = 'allowance.acme.2026-11'
const payload = Buffer.from('payload')

describe('the writer of a log in SQLite', () => {
  let log: LogFolder
  let writer: LogWriter
  let written = 0
  beforeEach(async () => {
    log = await makeLogFolder()
    const options = { file: log.file, partition: '0', busyTimeoutMs: 2_000, checkpointBytes: 8 * 1024 * 1024 }
    writer = createLogWriter(options, () => undefined)
  })
  afterEach(async () => {
    writer.close()
    await log.remove()
  })

  const call = (
    more: Partial<PackedCall['events'][number]> = {},
    expected: PackedCall['expected'] = null,
  ): PackedCall => {
    const id = `acme.test.${++written}`
    const fields = { workspaceId: workspaceIdOf('acme'), isErasing: false, receivedAt: 0, subject: null }
    const event = { id, ...fields, header: JSON.stringify({ id }), crc: crc32(payload), bytes: payload.length }
    return { expected, events: [{ ...event, ...more }] }
  }
  const commit = (...calls: PackedCall[]): Outcome['kind'][] => {
    const payloads = Buffer.concat(calls.map(() => payload))
    return writer.commit({ calls, payloads }).map(({ kind }) => kind)
  }

  it('refuses an event that does not have its payload, which was damaged on the way, and that alone', () => {
    expect(commit(call(), call({ crc: crc32('other') }), call())).to.deep.equal(['appended', 'refused', 'appended'])
  })

  it('takes the newest event of a subject for none once it is cut off, also while its row is still there', () => {
    const first = (): PackedCall => call({ subject }, { subject, position: beforeEvents })
    commit(...Array.from({ length: 550 }, (_, n) => call(n === 540 ? { subject } : {})))
    expect(commit(first())).to.deep.equal(['conflict'])
    expect(writer.cut(545 * positionStep)).to.equal(true)
    expect(commit(first())).to.deep.equal(['appended'])
    expect(writer.cut(545 * positionStep), 'a step that was left').to.equal(true)
  })

  for (const [what, lose] of [
    ['whose WAL was removed', (file: string) => rmSync(`${file}-wal`)],
    ['that was removed', (file: string) => rmSync(file)],
    ['in whose place another file was put', (file: string) => renameSync(`${file}.other`, file)],
  ] as const)
    it(`acknowledges nothing more into a log ${what} while it is open, and has the next start look at it`, () => {
      writeFileSync(`${log.file}.other`, 'another')
      expect(commit(call())).to.deep.equal(['appended'])
      lose(log.file)
      for (let round = 0; round < 2; round++) {
        expect(() => commit(call()))
          .to.throw(TransientError)
          .with.nested.property('cause.message')
          .that.matches(
            /its files were removed or replaced while it was open, and .*; stop the server and start it again/,
          )
      }
      expect(writer.broken()).to.equal(true)
      // Of one that is gone there is nothing to look at: the start is refused.
      if (existsSync(log.file)) expect(suspicionOf(log.file)).to.match(/removed or replaced/)
    })

  it('keeps what it had acknowledged where only the WAL was removed while it is open', () => {
    for (let n = 0; n < 3; n++) commit(call())
    rmSync(`${log.file}-wal`)
    expect(() => commit(call())).to.throw(TransientError)
    copyFileSync(log.file, `${log.file}.alone`)
    const alone = new DatabaseSync(`${log.file}.alone`)
    expect(alone.prepare('SELECT count(*) AS events FROM events').get()).to.deep.include({ events: 4 })
    alone.close()
  })
})
