import { copyFileSync, existsSync, mkdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect } from 'chai'
import { afterEach, beforeEach, describe, it } from 'mocha'
import { createSqliteIndexAudit } from '#projections/stores/sqlite/auditing/audit.ts'
import { acme, epoch, fixture as projection, index, lineEntry, noonNs, write } from '#test/support/index-fixture.ts'
import { openSqliteFixture, type SqliteFixture } from '#test/support/sqlite-fixture.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import { rejection } from '#test/support/read-all.ts'

const files = 12

/** How often the record of a build is read meanwhile. */
async function recordsRead(task: () => Promise<void>): Promise<number> {
  const { prototype } = DatabaseSync
  const { prepare } = prototype
  let read = 0
  prototype.prepare = function (sql, ...more) {
    if (/\bshapes\b.* FROM build/.test(sql)) read++
    return prepare.call(this, sql, ...more)
  }
  try {
    await task()
  } finally {
    prototype.prepare = prepare
  }
  return read
}

describe('an audit of index files', () => {
  let fixture: SqliteFixture
  beforeEach(async () => {
    fixture = await openSqliteFixture()
  })
  afterEach(async () => {
    await fixture.writer.close()
    fixture.remove()
  })

  it('reads what a build is made of once, not with each of its files', async () => {
    for (let each = 1; each <= files; each++) {
      const line = lineEntry({ timeNs: noonNs, text: `number ${each}`, level: 'info', size: each }, each)
      await write(fixture.writer, [line], each, workspaceIdOf(`w${each}`))
    }
    const audit = createSqliteIndexAudit({ folder: fixture.folder })
    const counted: number[] = []
    const digestAll = async (): Promise<void> => {
      for (const part of await audit.parts(index)) {
        const frozen = await audit.freeze(index, part)
        counted.push((await frozen.digests()).reduce((sum, { entries }) => sum + entries, 0))
        await frozen.release()
      }
    }
    const read = await recordsRead(digestAll)
    expect(counted).to.deep.equal(Array.from({ length: files }, () => 1))
    expect(read).to.equal(1)
    await audit.close()
  })

  it('copies no file of another workspace or day: the copy would stop who folds it, as the file does', async () => {
    await write(fixture.writer, [lineEntry({}, 1)], 1)
    const [file, place] = [basename(fixture.dayFile()), workspaceIdOf('place')]
    mkdirSync(join(fixture.folder, index, place))
    copyFileSync(fixture.dayFile(), join(fixture.folder, index, place, file))
    const audit = createSqliteIndexAudit({ folder: fixture.folder })
    await audit.copy(index, 'copy', acme)
    const refused = 'it is the file of another workspace or day'
    expect(String(await rejection(audit.copy(index, 'copy', place)))).to.include(refused)
    expect([acme, place].map((of) => existsSync(join(fixture.folder, 'copy', of, file)))).to.deep.equal([true, false])
    await audit.close()
  })

  it('looks again for a build that was not there yet', async () => {
    const audit = createSqliteIndexAudit({ folder: fixture.folder })
    const part = { workspaceId: workspaceIdOf('w1'), day: '2026-11-21' }
    const early = await audit.freeze('later', part)
    expect(await early.digests()).to.deep.equal([])
    await early.release()
    await fixture.writer.open('later', projection, epoch)
    expect(await recordsRead(async () => (await audit.freeze('later', part)).release())).to.equal(1)
    expect(await recordsRead(async () => (await audit.freeze('later', part)).release())).to.equal(0)
    await audit.close()
  })
})
