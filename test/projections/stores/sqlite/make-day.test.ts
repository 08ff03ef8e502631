import { expect } from 'chai'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { TransientError } from '#src/lib/failure.ts'
import { tablesOf } from '#projections/stores/sqlite/layout.ts'
import { createMakeDay } from '#projections/stores/sqlite/writing/make-day.ts'
import { shapeOf } from '#projections/stores/row.ts'
import { lines } from '#test/support/index-fixture.ts'

describe('the file of a new day', () => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'throughline-sqlite-make-day-'))
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  it('is the same for all of a build but for whose it is, also where a killed process has left a part of one', () => {
    const makeDay = createMakeDay([tablesOf(shapeOf(lines))], 'epoch')
    const made = ['first', 'second'].map((name) => {
      const path = join(folder, `${name}.db`)
      for (const left of ['-new', '-new-wal']) writeFileSync(`${path}${left}`, 'a part of one')
      expect([makeDay(path), makeDay(path)]).to.deep.equal([true, false])
      return readFileSync(path)
    })
    expect(made[0]?.length).to.be.above(4_096)
    const owners = made.map((bytes) => bytes.readInt32BE(68))
    expect(owners[0]).not.to.equal(owners[1])
    expect(owners).not.to.include(0)
    for (const bytes of made) bytes.writeInt32BE(0, 68)
    expect(made[1]?.equals(made[0] ?? Buffer.alloc(0))).to.equal(true)
    expect(readdirSync(folder).sort()).to.deep.equal(['first.db', 'second.db'])
  })

  it('is made later where it cannot be made now', () => {
    const makeDay = createMakeDay([tablesOf(shapeOf(lines))], 'epoch')
    expect(makeDay(join(folder, 'first.db'))).to.equal(true)
    const inTheWay = join(folder, 'second.db-new')
    mkdirSync(inTheWay)
    expect(() => makeDay(join(folder, 'second.db'))).to.throw(TransientError, 'second.db')
    rmSync(inTheWay, { recursive: true })
    expect(makeDay(join(folder, 'second.db'))).to.equal(true)
  })
})
