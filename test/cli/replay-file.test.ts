import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { createEventFile, readEvents, type PlacedEvent } from '#src/cli/replay-file.ts'
import { makeEvent } from '#test/support/make-event.ts'
import { syncedBy } from '#test/support/synced-by.ts'

describe('a file of replay', () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'replay-file-'))
  })
  afterEach(() => rm(folder, { recursive: true }))

  it('is on the disk, with its name, when it is said to be written', async () => {
    const path = join(folder, 'events')
    const placed: PlacedEvent = { partition: '0', event: { ...makeEvent('one'), position: 4096 } }
    const file = await createEventFile(path)
    await file.add(placed)
    expect(await syncedBy(() => file.end())).to.deep.equal([path, folder])
    const read: PlacedEvent[] = []
    for await (const one of readEvents(path)) read.push(one)
    expect(read.map(({ partition, event }) => [partition, event.id])).to.deep.equal([['0', placed.event.id]])
    expect((await stat(path)).mode & 0o777, 'as the log').to.equal(0o600)
    const again = await createEventFile(path).catch(String)
    expect(again).to.match(/^PermanentError: write events to .*it must not be there yet/)
  })

  it('is read only as it was written', async () => {
    const path = join(folder, 'events')
    const file = await createEventFile(path)
    for (const position of [4096, 8192])
      await file.add({ partition: '0', event: { ...makeEvent(`${position}`), position } })
    await file.end()
    const lines = (await readFile(path, 'utf8')).trimEnd().split('\n')
    const said = async (...changed: readonly string[]) => {
      await writeFile(path, `${changed.join('\n')}\n`)
      let events = 0
      try {
        for await (const _ of readEvents(path)) events++
        return [events, 'all']
      } catch (error) {
        return [events, /\(([^()]*)\)$/.exec(String(error))?.[1]]
      }
    }
    const [first = '', one = '', two = '', end = ''] = lines
    expect(await said(...lines)).to.deep.equal([2, 'all'])
    const cut = 'it was cut: its last events are missing'
    for (const left of [[first], [first, one], [first, one, two], [first, one, end]]) {
      expect(await said(...left)).to.deep.equal([left.filter((line) => line === one || line === two).length, cut])
    }
    const foreign = 'it was not written by throughline replay --out'
    expect(await said('{"throughline":"events","version":2}', one, two, end)).to.deep.equal([0, foreign])
    const damaged = one.replace(/"payload":"./, '"payload":"_')
    expect(await said(first, damaged, two, end)).to.deep.equal([0, 'the event at 0/4096 is damaged'])
  })
})
