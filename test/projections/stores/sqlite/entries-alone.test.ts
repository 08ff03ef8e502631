import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect } from 'chai'
import { afterEach, beforeEach, describe, it } from 'mocha'
import type { Entry } from '#projections/projection.ts'
import { createSqliteIndexAudit } from '#projections/stores/sqlite/auditing/audit.ts'
import type { Kept } from '#projections/stores/sqlite/writing/build.ts'
import { createSqliteIndexWriter } from '#projections/stores/sqlite/writing/writer.ts'
import { acme, day, epoch, fixture, index, lineEntry, thingEntry } from '#test/support/index-fixture.ts'

const msNs = 1_000_000n
/** Times in no order, several within a millisecond, one before 1970. */
const timesNs = [5n * msNs, 2n * msNs + 7n, 2n * msNs + 1n, -3n * msNs, 2n * msNs, 5n * msNs + 999_999n, 0n]
const written: readonly Entry[] = [
  ...timesNs.map((timeNs, at) => lineEntry({ timeNs, text: `line ${at}` }, 1)),
  thingEntry('b', { weight: 2n, note: 'paid', tags: ['x'] }, 1),
  thingEntry('a', { weight: 1n, note: '', tags: [] }, 1),
]

describe('files that keep entries alone', () => {
  let folder = ''
  beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'throughline-entries-'))))
  afterEach(() => rmSync(folder, { recursive: true }))

  /** Writes the entries, and reads each collection whole. */
  async function kept(keeps: Kept): Promise<readonly (readonly Entry[])[]> {
    const writer = createSqliteIndexWriter({ folder, limits: { indexFilesOpenMax: 8 }, keeps })
    await writer.open(index, fixture, epoch)
    await writer.write(index, [{ workspaceId: acme, entries: written }], { epoch, position: 1 })
    await writer.close()
    const part = await createSqliteIndexAudit({ folder }).freeze(index, { workspaceId: acme, day })
    const found: Entry[][] = []
    for (const name of ['lines', 'things']) {
      const entries: Entry[] = []
      for await (const entry of part.entries(name)) entries.push(entry)
      found.push(entries)
    }
    await part.release()
    return found
  }

  it('hold the same entries as any other, in the order of their ids', async () => {
    const alone = await kept('entries')
    rmSync(folder, { recursive: true })
    expect(alone).to.deep.equal(await kept('all'))
    for (const entries of alone) {
      const ids = entries.map(({ id }) => id)
      expect(ids).to.deep.equal(ids.toSorted())
    }
    expect(alone.map((entries) => entries.length)).to.deep.equal([timesNs.length, 2])
  })

  it('hold nothing that only searches go by', async () => {
    const searched = async (keeps: Kept): Promise<readonly string[]> => {
      await kept(keeps)
      const database = new DatabaseSync(join(folder, index, acme, `${day}.db`), { readOnly: true })
      const names = database.prepare("SELECT name FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'").all()
      database.close()
      return names.map(({ name }) => String(name)).filter((name) => /^[fvmc]_|_n_/.test(name))
    }
    expect(await searched('entries')).to.deep.equal([])
    rmSync(folder, { recursive: true })
    expect(await searched('all')).not.to.deep.equal([])
  })
})
