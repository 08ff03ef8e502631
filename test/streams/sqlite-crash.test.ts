import { copyFile, readFile, truncate } from 'node:fs/promises'
import { expect } from 'chai'
import { readAll, rejection } from '../support/read-all.ts'
import { makeLogFolder, type LogFolder } from '../support/log-folder.ts'
import { makeEvent, makeEvents } from '../support/make-event.ts'
import { startProgram } from './programs/child.ts'
import { commitsInWal } from './wal.ts'

describe('the sqlite stream after a crash', () => {
  let log: LogFolder
  beforeEach(async () => {
    log = await makeLogFolder()
  })
  afterEach(() => log.remove())

  it('holds everything acknowledged to a program that was killed with kill -9, five times over', async () => {
    const acknowledged: string[] = []
    for (let round = 0; round < 5; round++) {
      const child = startProgram('append.ts', [log.file, `round-${round}`, '1000000', 'thread'])
      await child.printed(50 + 37 * round)
      await child.kill()
      acknowledged.push(...child.lines)
    }
    const stream = await log.open()
    const found = (await readAll(stream)).map(({ id }) => id)
    expect(acknowledged).to.have.length.at.least(5 * 50)
    expect(new Set(found).size, 'each once').to.equal(found.length)
    expect(acknowledged.filter((id) => !new Set(found).has(id))).to.deep.equal([])
    await stream.append([makeEvent('after')])
    await stream.close()
  })

  it('is a readable prefix of itself wherever its WAL was torn, and can be written on', async () => {
    const stream = await log.open()
    const before = commitsInWal(log.file)
    const ids: string[] = []
    for (const event of makeEvents(12)) {
      await stream.append([event])
      ids.push(event.id)
    }
    const whole = (await readFile(`${log.file}-wal`)).length
    const lengths = new Set<number>()
    for (let cut = 1; cut < whole - 32; cut = Math.ceil(cut * 1.7)) {
      const torn = await makeLogFolder()
      await copyFile(log.file, torn.file)
      await copyFile(`${log.file}-wal`, `${torn.file}-wal`)
      await truncate(`${torn.file}-wal`, whole - cut)
      const left = commitsInWal(torn.file) - before
      const again = await torn.open()
      const found = (await readAll(again)).map(({ id }) => id)
      expect(found).to.deep.equal(ids.slice(0, Math.max(0, left)))
      lengths.add(found.length)
      await again.append([makeEvent('after')])
      expect((await readAll(again)).map(({ id }) => id)).to.deep.equal([...found, 'acme.traces.after'])
      await again.close()
      await torn.remove()
    }
    expect(lengths.size, 'the cuts went through different events').to.be.greaterThan(4)
    await stream.close()
  })

  for (const thread of ['here', 'thread']) {
    it(`acknowledges nothing more after an I/O error, and loses nothing acknowledged (writing ${thread})`, async () => {
      const child = startProgram('append.ts', [log.file, 'event', '100000', thread], 600)
      await child.ended
      const acknowledged = child.lines.filter((line) => line.startsWith('acme.'))
      expect(child.lines.filter((line) => !line.startsWith('acme.'))).to.deep.equal([
        'broken TransientError',
        'refused TransientError',
        'refused TransientError',
      ])
      expect(child.lines.slice(-3), 'nothing after the first refusal').not.to.include.members(acknowledged.slice(-1))
      const stream = await log.open()
      const found = new Set((await readAll(stream)).map(({ id }) => id))
      expect(acknowledged).to.have.length.above(10)
      expect(acknowledged.filter((id) => !found.has(id))).to.deep.equal([])
      await stream.append([makeEvent('after')])
      await stream.close()
    })
  }

  it('says where it ends to a reader that was ahead of the torn tail', async () => {
    const stream = await log.open()
    const { last } = await stream.append(makeEvents(3))
    log.sql('DELETE FROM events WHERE seq = 3')
    expect((await rejection(stream.read(last, 10))).message).to.contain('lost its tail')
    await stream.close()
  })
})
