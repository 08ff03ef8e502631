import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect } from 'chai'
import { afterEach, beforeEach, describe, it } from 'mocha'
import type { Digest, FrozenPart, SearchItem } from '#projections/index-audit.ts'
import { recordId, type Collection, type Entry, type Projection } from '#projections/projection.ts'
import { createSqliteIndexAudit } from '#projections/stores/sqlite/auditing/audit.ts'
import type { Kept } from '#projections/stores/sqlite/writing/build.ts'
import { createSqliteIndexWriter } from '#projections/stores/sqlite/writing/writer.ts'
import {
  acme,
  day,
  epoch,
  fixture,
  index,
  lineEntry,
  noonNs,
  randomLine,
  thingEntry,
} from '#test/support/index-fixture.ts'
import { createRandom } from '#test/support/random.ts'

/** Texts go to FTS5 as they are. */
const texts: Collection<Readonly<{ first: string; second: string }>> = {
  name: 'texts',
  kind: 'record',
  lookbackDays: 0,
  fields: { first: 'tokens', second: 'tokens' },
  searchable: (fields) => ({ timeNs: 0n, fields }),
}
const raw: Projection = { ...fixture, collections: { texts } }

const odd = [
  'a b a a',
  'Capitals AND some',
  ' blanks   between ',
  'tab\tand\nline',
  'a\u0000b',
  'delete\u007fd',
  'Ärger ÄRGER é',
  'half \ud83d of',
  'whole 😀 one',
  '\u00b7 ! ~ "quoted" a.b,c;d',
  '\u00a0no break\u00a0',
  '',
]

type Looked = Readonly<{ digests: readonly Digest[]; items: unknown }>

async function lookAt(part: FrozenPart, collections: readonly string[]): Promise<Looked> {
  const items: unknown[] = []
  for (const collection of collections) {
    const found: SearchItem[] = []
    for await (const item of part.searchItems(collection)) found.push(item)
    for (const item of found) {
      const entries: SearchItem[] = []
      for await (const entry of part.entriesOf(collection, item.name)) entries.push(entry)
      items.push([collection, item, entries])
    }
  }
  return { digests: await part.digests(), items }
}

describe('files with sums over postings', () => {
  let folder = ''
  beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'throughline-sums-'))))
  afterEach(() => rmSync(folder, { recursive: true }))

  /** Writes batches, and reads what searches go by. */
  async function looked(keeps: Kept, projection: Projection, batches: readonly (readonly Entry[])[]): Promise<Looked> {
    const place = { folder: join(folder, keeps) }
    const writer = createSqliteIndexWriter({ ...place, limits: { indexFilesOpenMax: 8 }, keeps })
    await writer.open(index, projection, epoch)
    for (const entries of batches) {
      const position = Math.max(...entries.map((entry) => entry.position))
      await writer.write(index, [{ workspaceId: acme, entries }], { epoch, position })
    }
    await writer.close()
    const audit = createSqliteIndexAudit(keeps === 'sums' ? { ...place, summed: () => projection } : place)
    const part = await audit.freeze(index, { workspaceId: acme, day })
    try {
      return await lookAt(part, Object.keys(projection.collections))
    } finally {
      await part.release()
    }
  }

  it('come to the digest of the postings that FTS5 makes of any text, and name the same terms and places', async () => {
    const entries = odd.flatMap((first, at) =>
      odd.map((second, other): Entry => {
        const id = recordId(noonNs + BigInt(at * odd.length + other), 'text', 0)
        return { collection: 'texts', id, day, position: 1, document: { first, second } }
      }),
    )
    const whole = await looked('all', raw, [entries])
    expect(await looked('sums', raw, [entries])).to.deep.equal(whole)
    expect(whole.digests[0]?.search).to.match(/ [0-9a-f]{16}$/)
  })

  for (const seed of [1, 2, 3]) {
    it(`come to the same in other cuts, of documents that change and records that are replaced (seed ${seed})`, async () => {
      const random = createRandom(seed)
      const history = Array.from({ length: 80 }, (_, n): Entry => {
        const position = n + 1
        if (random.chance(0.5)) {
          const line = lineEntry(randomLine(random), position)
          return random.chance(0.3) ? { ...line, id: lineEntry({}, 1).id, replaces: true } : line
        }
        const { text } = randomLine(random)
        return thingEntry(`thing ${random.below(9)}`, { note: text, weight: random.below(3) }, position, { created: 1 })
      })
      const oneByOne = history.map((entry) => [entry])
      const pairs = Array.from({ length: 40 }, (_, n) => {
        const [a, b] = history.slice(2 * n, 2 * n + 2) as [Entry, Entry]
        return a.id === b.id ? [b] : [a, b]
      })
      const whole = await looked('all', fixture, oneByOne)
      expect(await looked('sums', fixture, pairs)).to.deep.equal(whole)
      expect(whole.digests.map(({ collection }) => collection)).to.include.members(['lines', 'things'])
    })
  }

  it('hold no postings, which are most of what a file takes', async () => {
    const postingsOf = async (keeps: 'all' | 'sums'): Promise<readonly unknown[]> => {
      await looked(keeps, fixture, [[lineEntry({ text: 'paid' }, 1), thingEntry('a', { note: 'paid' }, 1)]])
      const database = new DatabaseSync(join(folder, keeps, index, acme, `${day}.db`), { readOnly: true })
      const names = database.prepare("SELECT name FROM sqlite_schema WHERE name GLOB '[fv]_*'").all()
      database.close()
      return names
    }
    expect(await postingsOf('sums')).to.deep.equal([])
    expect(await postingsOf('all')).not.to.deep.equal([])
  })
})
