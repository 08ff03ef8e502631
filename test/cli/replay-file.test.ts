import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { createEventFile, readEvents, type PlacedEvent } from '#src/cli/replay-file.ts'
import { makeEvent } from '#test/streams/make-event.ts'
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
  })
})
