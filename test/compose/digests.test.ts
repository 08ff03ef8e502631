import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { afterEach, beforeEach, describe, it } from 'mocha'
import type { Part } from '#projections/index-audit.ts'
import { createSqliteIndexWriter } from '#projections/stores/sqlite/writing/writer.ts'
import { createFilesAudit, type FilesPlace } from '#src/compose/files-audit.ts'
import { createDigestThread } from '#src/compose/threads/digests.ts'
import { acme, day, epoch, fixture, index, lineEntry, thingEntry } from '#test/support/index-fixture.ts'

const part: Part = { workspaceId: acme, day }
const entries = [lineEntry({ text: 'paid' }, 1), lineEntry({ text: 'refused' }, 1), thingEntry('a', { note: 'x' }, 1)]

describe('digests by a thread', () => {
  let folder = ''
  let thread: ReturnType<typeof createDigestThread>
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'throughline-digests-'))
    thread = createDigestThread({ folder, keeps: 'sums' })
    const writer = createSqliteIndexWriter({ folder, limits: { indexFilesOpenMax: 8 } })
    await writer.open(index, fixture, epoch)
    await writer.write(index, [{ workspaceId: acme, entries }], { epoch, position: 1 })
    await writer.close()
  })
  afterEach(async () => {
    await thread.end()
    rmSync(folder, { recursive: true })
  })

  async function digestsHere(place: FilesPlace) {
    const frozen = await createFilesAudit(place).freeze(index, part)
    const digests = await frozen.digests()
    await frozen.release()
    return { position: frozen.position, digests }
  }

  it('are those of the audit of the place', async () => {
    const found = await thread.digests(index, part)
    expect(found.position).to.equal(1)
    expect(found.digests.map(({ collection, entries: count }) => [collection, count])).to.deep.equal([
      ['lines', 2],
      ['things', 1],
    ])
    expect(found).to.deep.equal(await digestsHere({ folder, keeps: 'sums' }))
    const none = await thread.digests(index, { ...part, day: '2000-01-01' })
    expect(none).to.deep.equal({ position: 0, digests: [] })
  })

  it('fail when the thread ends before they are made', async () => {
    const asked = thread.digests(index, part).catch(String)
    await thread.end()
    expect(await asked).to.contain('the digest thread')
  })
})
