import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { limits } from '#src/config.ts'
import { openLogBeside } from '#src/compose/log-beside.ts'
import { createSqliteStream } from '#streams/sqlite/stream.ts'
import { makeEvent, makeEvents } from '../support/make-event.ts'

describe('a log beside its server', () => {
  let folder: string
  beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'throughline-beside-'))))
  afterEach(() => rmSync(folder, { recursive: true }))

  /** With so many events that a cut takes many steps, between which others have their turn. */
  async function openBeside() {
    const log = { file: join(folder, '0.db'), partition: '0' }
    const stream = await createSqliteStream({ ...log, thread: false, limits })
    const { last } = await stream.append(makeEvents(4_000))
    await stream.close()
    return { beside: await openLogBeside(log), last }
  }

  it('ends nothing that was begun after a failure, because of what was begun before it', async () => {
    const { beside, last } = await openBeside()
    const before = beside.cut(last)
    const refused = await beside.append([makeEvent('bad', { schemaVersion: 0 })]).catch((error: unknown) => error)
    expect(refused).to.have.property('name', 'PermanentError')
    const after = beside.cut(last)
    const [, outcome] = await Promise.allSettled([before, after])
    expect(outcome.status).to.equal('fulfilled')
    await beside.close()
  })

  it('stays open where somebody else has decided first', async () => {
    const { beside, last } = await openBeside()
    const before = beside.cut(last)
    const decided = await beside
      .append([makeEvent('late', { subject: 'lease' })], { subject: 'lease', position: last })
      .catch((error: unknown) => error)
    expect(decided).to.have.property('name', 'ConflictError')
    await before
    await beside.close()
  })
})
