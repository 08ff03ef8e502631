import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { backUpLog } from '#streams/sqlite/back-up.ts'
import { checkCopied } from '#streams/sqlite/copied.ts'
import { openSqliteStreamReader } from '#streams/sqlite/stream.ts'
import { suspicionOf } from '#streams/sqlite/suspicion.ts'
import { timesOpen } from '#test/support/sqlite-fixture.ts'
import { makeLogFolder, type LogFolder } from '../support/log-folder.ts'
import { makeEvent, makeLarge, noon } from '../support/make-event.ts'
import { idsOf, readAll, rejection } from '../support/read-all.ts'

describe('a backup of a log in SQLite', () => {
  let log: LogFolder
  beforeEach(async () => {
    log = await makeLogFolder()
  })
  afterEach(() => log.remove())

  it('is read from beginning to end: one old payload that is damaged is told, and the next start looks at the log', async () => {
    const stream = await log.open()
    await stream.append(Array.from({ length: 300 }, (_, n) => makeLarge(`event-${n}.`, 300)))
    await stream.close()
    const file = readFileSync(log.file)
    const at = file.indexOf('event-100.event-100.')
    writeFileSync(log.file, file.fill(0, at, at + 4))
    const copied = backUpLog({ file: log.file, partition: '0' }, join(log.folder, 'copy.db'), () => noon)
    expect((await rejection(copied)).message).to.include('event 101: its payload does not match its checksum')
    expect(suspicionOf(log.file)).to.include('event 101')
  })

  it('is known for one while it is only read, until it is opened to be written', async () => {
    const stream = await log.open()
    await stream.append([makeEvent('one')])
    await stream.close()
    const file = join(log.folder, 'copy.db')
    const head = await backUpLog({ file: log.file, partition: '0' }, file, () => noon)
    const reader = await openSqliteStreamReader({ file, partition: '0' })
    expect(idsOf(await readAll(reader))).to.deep.equal([makeEvent('one').id])
    await reader.close()
    expect(checkCopied(file)).to.deep.include({ at: new Date(noon).toISOString(), head })
    expect(timesOpen(file)).to.equal(0)
    await (await log.open({ file })).close()
    expect(checkCopied(file)).to.equal(undefined)
  })
})
