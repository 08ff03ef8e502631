import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { expect } from 'chai'
import type { IndexWriter } from '#projections/index-store.ts'
import { erasingAhead } from '#src/compose/threads/erasing-ahead.ts'
import { sealErasure } from '#src/events/erasure.ts'
import { TransientError } from '#src/lib/failure.ts'
import { createMemoryStream } from '#streams/memory/stream.ts'
import { acme, lineEntry, other, write } from '../support/index-fixture.ts'
import { rejection } from '../support/read-all.ts'
import { openSqliteFixture, type SqliteFixture } from '../support/sqlite-fixture.ts'

describe('folding into an index whose disk is full', () => {
  let given: SqliteFixture
  let writer: IndexWriter
  const stream = createMemoryStream({ partition: '0' })
  const full = new TransientError({ operation: 'write to', subject: 'a folder', hint: 'its disk is full' })
  const waiting = { write: () => Promise.reject(full) }
  const isThere = (workspaceId = acme): boolean => existsSync(given.dayFile().replace(acme, workspaceId))

  beforeEach(async () => {
    given = await openSqliteFixture()
    await write(given.writer, [lineEntry({}, 1)], 1)
    await write(given.writer, [lineEntry({}, 1)], 1, other)
    writer = erasingAhead({ ...given.writer, ...waiting }, { indexFolder: given.folder, stream })
  })
  afterEach(async () => {
    await given.writer.close()
    given.remove()
  })

  it('waits, and removes what the log says further on is erased: that may be what gives room', async () => {
    expect(dirname(given.dayFile())).to.include(acme)
    expect(await rejection(write(writer, [lineEntry({}, 2)], 2, other))).to.equal(full)
    expect([isThere(), isThere(other)]).to.deep.equal([true, true])
    await stream.append([sealErasure(acme, { at: 1, unique: '1'.repeat(32) })])
    expect(await rejection(write(writer, [lineEntry({}, 2)], 2, other))).to.equal(full)
    expect([isThere(), isThere(other)]).to.deep.equal([false, true])
  })
})
