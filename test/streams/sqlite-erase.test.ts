import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect } from 'chai'
import { sealErasure } from '#src/events/erasure.ts'
import { noCounts, type NewEvent } from '#src/events/envelope.ts'
import { crcOf, formatHeader } from '#src/events/codec.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import { rowCrc } from '#streams/sqlite/row.ts'
import { makeLogFolder, type LogFolder } from '../support/log-folder.ts'
import { makeEvent, noon } from '../support/make-event.ts'
import { idsOf, readAll, rejection } from '../support/read-all.ts'

const acme = workspaceIdOf('acme')
const globex = workspaceIdOf('globex')
const secret = 'the-word-that-must-go'

describe('what is erased from a log in SQLite', () => {
  let log: LogFolder
  beforeEach(async () => {
    log = await makeLogFolder()
  })
  afterEach(() => log.remove())

  /** Not packed, so that its bytes can be looked for; some larger than a page. */
  function withBytes(name: string, bytes: number): NewEvent {
    const payload = Buffer.from(`${secret} `.repeat(Math.ceil(bytes / (secret.length + 1))))
    const event = makeEvent(name, { workspaceId: acme, answer: `${name} ${acme} ${secret}`, counts: noCounts })
    return { ...event, encoding: '', payload, crc: crcOf(payload) }
  }
  const filesWith = (text: string): readonly string[] =>
    readdirSync(log.folder).filter((name) => readFileSync(join(log.folder, name)).includes(text))

  it('is in no file any more, the WAL included, while the log stays open', async () => {
    const stream = await log.open({ thread: true })
    // More than one step, through a checkpoint of the WAL and back into it.
    for (let index = 0; index < 700; index++) {
      await stream.append([withBytes(`event-${index}`, index % 100 === 0 ? 300_000 : 200)])
      await stream.append([makeEvent(`other-${index}`, { workspaceId: globex })])
    }
    expect(filesWith(secret)).to.have.length.above(0)
    const upTo = (await stream.append([sealErasure(acme, { at: noon, unique: 'one' })])).last
    await stream.erase(acme, upTo)
    expect(filesWith(secret)).to.deep.equal([])
    expect(filesWith('acme.traces')).to.deep.equal([])
    expect(await readAll(stream)).to.have.length(701)
    await stream.close()
  })

  it('is gone from a log that is longer than one step looks through', async () => {
    const stream = await log.open()
    const others = Array.from({ length: 4_200 }, (_, n) => makeEvent(`other-${n}`, { workspaceId: globex }))
    await stream.append([withBytes('first', 10), ...others, withBytes('last', 10)])
    const upTo = (await stream.append([sealErasure(acme, { at: noon, unique: 'one' })])).last
    await stream.erase(acme, upTo)
    expect([filesWith(secret), await stream.isLeft(acme)]).to.deep.equal([[], false])
    await stream.close()
  })

  it('keeps its places: one that is missing is damage, and so is one that was changed', async () => {
    const stream = await log.open()
    await stream.append([withBytes('one', 10), makeEvent('two', { workspaceId: globex }), withBytes('three', 10)])
    const upTo = (await stream.append([sealErasure(acme, { at: noon, unique: 'one' })])).last
    await stream.erase(acme, upTo)
    expect(idsOf(await readAll(stream))).to.deep.equal(['globex.traces.two', 'acme.workspace.one'])
    await stream.close()
    for (const damage of ['DELETE FROM events WHERE seq = 3', `UPDATE events SET crc = 1 WHERE seq = 3`]) {
      const copy = await log.open()
      log.sql(damage)
      await readAll(copy).then(
        () => expect.fail('it was read'),
        (error: Error) => expect(error.message).to.match(/it is missing|does not match/),
      )
      await copy.close()
    }
  })

  for (const thread of [true, false]) {
    it(`is gone after another try when the log is closed under it, which is not broken, ${thread ? 'with' : 'without'} a thread`, async () => {
      const broken: Error[] = []
      const stream = await log.open({ thread, onBroken: (error) => broken.push(error) })
      const events = Array.from({ length: 1_500 }, (_, index) => withBytes(`event-${index}`, 10))
      await stream.append(events)
      const upTo = (await stream.append([sealErasure(acme, { at: noon, unique: 'one' })])).last
      const steps = [stream.erase(acme, upTo), stream.cut(upTo)].map(rejection)
      await stream.close()
      for (const error of await Promise.all(steps)) expect(error.name).to.equal('TransientError')
      expect(broken).to.deep.equal([])
      const again = await log.open()
      expect(await again.isLeft(acme)).to.equal(true)
      await again.erase(acme, upTo)
      expect([await again.isLeft(acme), idsOf(await readAll(again))]).to.deep.equal([false, ['acme.workspace.one']])
      await again.close()
    })
  }

  it('stays, and the log takes what comes, where damage of it is met, which the next start looks for', async () => {
    const broken: Error[] = []
    const stream = await log.open({ onBroken: (error) => broken.push(error) })
    await stream.append([withBytes('one', 10)])
    log.sql(`UPDATE events SET header = replace(header, '"type":', '"tope":')`)
    const upTo = (await stream.append([sealErasure(acme, { at: noon, unique: 'one' })])).last
    expect((await rejection(stream.erase(acme, upTo))).message).to.include('the checksum of its header does not match')
    await stream.append([makeEvent('two', { workspaceId: globex })])
    expect([broken, existsSync(`${log.file}.suspect`)]).to.deep.equal([[], true])
    await stream.close()
  })

  it('is gone also where one event is more than a step erases', async () => {
    const stream = await log.open()
    await stream.append([withBytes('large', 9 * 1024 * 1024)])
    const upTo = (await stream.append([sealErasure(acme, { at: noon, unique: 'one' })])).last
    await stream.erase(acme, upTo)
    expect([await stream.isLeft(acme), idsOf(await readAll(stream))]).to.deep.equal([false, ['acme.workspace.one']])
    await stream.close()
  })

  it('is gone though a newer program has written some of it', async () => {
    const stream = await log.open()
    await stream.append([withBytes('one', 10)])
    const newer = formatHeader(withBytes('one', 10)).replace('spans.received', 'metrics.received')
    log.sql(`UPDATE events SET header = '${newer}', crc = ${rowCrc(1, newer)}`)
    const upTo = (await stream.append([sealErasure(acme, { at: noon, unique: 'one' })])).last
    await stream.erase(acme, upTo)
    expect([await stream.isLeft(acme), idsOf(await readAll(stream))]).to.deep.equal([false, ['acme.workspace.one']])
    await stream.close()
  })

  it('takes nothing along of another workspace, in which a newer program names it', async () => {
    const stream = await log.open()
    const two = makeEvent('two', { workspaceId: globex })
    await stream.append([withBytes('one', 10), two])
    const newer = formatHeader(two).replace(/\}$/, `,"copiedTo":{"workspaceId":"${acme}"}}`)
    log.sql(`UPDATE events SET header = '${newer}', crc = ${rowCrc(2, newer)} WHERE seq = 2`)
    const upTo = (await stream.append([sealErasure(acme, { at: noon, unique: 'one' })])).last
    await stream.erase(acme, upTo)
    expect(await stream.isLeft(acme)).to.equal(false)
    expect(idsOf(await readAll(stream))).to.deep.equal(['globex.traces.two', 'acme.workspace.one'])
    await stream.close()
  })

  it('is left while somebody holds the WAL that it is still in', async () => {
    const stream = await log.open()
    await stream.append([withBytes('one', 10)])
    const upTo = (await stream.append([sealErasure(acme, { at: noon, unique: 'one' })])).last
    const reader = new DatabaseSync(log.file)
    reader.exec('BEGIN; SELECT count(*) FROM events')
    expect((await rejection(stream.erase(acme, upTo))).message).to.include('readers hold it')
    expect([await stream.isLeft(acme), filesWith(secret)]).to.deep.equal([true, ['log.db-wal']])
    reader.close()
    await stream.erase(acme, upTo)
    expect([await stream.isLeft(acme), filesWith(secret)]).to.deep.equal([false, []])
    await stream.close()
  })

  it('is told to be left by what another process appends', async () => {
    const stream = await log.open()
    const beside = await log.open()
    await stream.append([withBytes('one', 10)])
    const upTo = (await stream.append([sealErasure(acme, { at: noon, unique: 'one' })])).last
    await stream.erase(acme, upTo)
    expect(await beside.isLeft(acme)).to.equal(false)
    await beside.append([withBytes('late', 10)])
    expect(await stream.isLeft(acme)).to.equal(true)
    await beside.close()
    await stream.close()
  })

  it('is left when the erasing of one of two is broken off', async () => {
    const stream = await log.open()
    await stream.append([withBytes('one', 10)])
    const first = (await stream.append([sealErasure(acme, { at: noon, unique: 'one' })])).last
    await stream.append([withBytes('late', 10)])
    await stream.erase(acme, first)
    expect(await stream.isLeft(acme)).to.equal(true)
    await stream.erase(acme, await stream.head())
    expect(await stream.isLeft(acme)).to.equal(false)
    await stream.close()
  })
})
