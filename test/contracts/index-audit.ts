import { expect } from 'chai'
import { after as afterAll, afterEach, beforeEach, describe, it } from 'mocha'
import { stringifyJson } from '#src/lib/json.ts'
import type { Digest, FrozenPart, IndexAudit, Part } from '#projections/index-audit.ts'

import type { Collection, Entry } from '#projections/projection.ts'
import {
  acme,
  day,
  epoch,
  fixture,
  index,
  lineEntry,
  lines,
  sets,
  things,
  type Line,
  noonNs,
  other,
  randomLine,
  thingEntry,
  type OpenIndexStore,
} from '#test/support/index-fixture.ts'
import { createRandom, type Random } from '#test/support/random.ts'

type OpenAudit = Pick<OpenIndexStore, 'writer'> & Readonly<{ audit: IndexAudit }>
type AuditPlace = Readonly<{ open(): Promise<OpenAudit>; remove(): Promise<void> }>

const second = 'fixture-v1-002'
const today: Part = { workspaceId: acme, day }

async function collect<T>(items: AsyncIterable<T>): Promise<readonly T[]> {
  const found: T[] = []
  for await (const item of items) found.push(item)
  return found
}

/** A history of records and documents, of which some are written again or replaced. */
function randomHistory(random: Random): readonly Entry[] {
  return Array.from({ length: 60 }, (_, n): Entry => {
    const position = n + 1
    if (random.chance(0.5)) return lineEntry(randomLine(random), position)
    const id = `thing ${random.below(12)}`
    const { timeNs, service, text } = randomLine(random)
    return thingEntry(id, { timeNs, weight: random.below(9), tags: service, note: text }, position, { created: 1 })
  })
}

/** The contract of IndexAudit (projections/index-audit.ts): every adapter passes it. */
export function indexAuditContract(name: string, create: () => Promise<AuditPlace>): void {
  describe(`index audit: ${name}`, () => {
    let place: AuditPlace
    let store: OpenAudit
    const places: AuditPlace[] = []
    beforeEach(async () => {
      place = await create()
      places.push(place)
      store = await place.open()
      await store.writer.open(index, fixture, epoch)
      await store.writer.open(second, fixture, epoch)
    })
    afterEach(async () => {
      await store.audit.close()
      await store.writer.close()
    })
    afterAll(async () => {
      for (const { remove } of places) await remove()
    })

    const write = async (
      entries: readonly Entry[],
      position: number,
      to = index,
      workspaceId = acme,
    ): Promise<void> => {
      await store.writer.write(to, [{ workspaceId, entries }], { epoch, position })
      // An engine may say only then how far its files are.
      await store.writer.heartbeat(to, { position, head: position, at: position, caughtUpAt: position })
    }
    /** In cuts of these sizes; all at once without. */
    const writeAll = async (history: readonly Entry[], size = () => history.length, to = index): Promise<void> => {
      for (let from = 0; from < history.length;) {
        const batch = history.slice(from, from + size())
        from += batch.length
        // Of one document a batch holds the last form only, as a projector writes it.
        const last = new Map(batch.map((entry) => [entry.id, entry]))
        await write([...last.values()], from, to)
      }
    }
    const frozen = async <T>(build: string, look: (part: FrozenPart) => Promise<T>, part = today): Promise<T> => {
      const held = await store.audit.freeze(build, part)
      try {
        return await look(held)
      } finally {
        await held.release()
      }
    }
    const digests = (build: string, part = today): Promise<readonly Digest[]> =>
      frozen(build, (held) => held.digests(), part)
    const lineDigest = async (build: string): Promise<Digest | undefined> =>
      (await digests(build)).find(({ collection }) => collection === 'lines')

    it('names the parts of a build, by workspace and day of receipt', async () => {
      expect(await store.audit.parts('fixture-v9-001')).to.deep.equal([])
      expect(await store.audit.parts(index)).to.deep.equal([])
      await write([lineEntry({}, 1), lineEntry({}, 2, { day: '2026-11-20' })], 2)
      await write([lineEntry({}, 3)], 3, index, other)
      const parts = (await store.audit.parts(index)).map((part) => `${part.workspaceId} ${part.day}`)
      expect(parts.toSorted()).to.deep.equal(['acme 2026-11-20', 'acme 2026-11-21', 'other 2026-11-21'])
    })

    it('gives nothing of a part that is not there', async () => {
      const held = await store.audit.freeze(index, today)
      expect(held.position).to.equal(0)
      expect(await held.digests()).to.deep.equal([])
      expect(await collect(held.fingerprints('lines'))).to.deep.equal([])
      expect(await held.stored('lines', 'x')).to.equal(undefined)
      await held.release()
    })

    for (const seed of [1, 2, 3]) {
      it(`gives builds of one history equal digests, in whatever cuts they were written (seed ${seed})`, async () => {
        const random = createRandom(seed)
        const history = randomHistory(random)
        await writeAll(history, () => 1 + random.below(4))
        await writeAll(history, () => 1 + random.below(20), second)
        expect(await digests(second)).to.deep.equal(await digests(index))
        for (const collection of ['lines', 'things']) {
          const prints = await frozen(index, (held) => collect(held.fingerprints(collection)))
          expect(prints.length).to.be.above(0)
          expect(await frozen(second, (held) => collect(held.fingerprints(collection)))).to.deep.equal(prints)
          const items = await frozen(index, (held) => collect(held.searchItems(collection)))
          expect(await frozen(second, (held) => collect(held.searchItems(collection)))).to.deep.equal(items)
          expect(items.map((item) => item.name)).to.deep.equal(
            items.map((item) => item.name).toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))),
          )
        }
        for (const collection of ['lines', 'things']) {
          const found = await frozen(index, async (held) => {
            const sums = new Map<string, number>()
            for (const { id } of await collect(held.fingerprints(collection)))
              for (const { name, value } of await held.countsOf(collection, id))
                sums.set(name, (sums.get(name) ?? 0) + Number(value))
            const minutes = (await collect(held.searchItems(collection))).filter(({ name }) =>
              name.startsWith('minute '),
            )
            return { sums, minutes: new Map(minutes.map(({ name, value }) => [name, Number(value)])) }
          })
          expect(found.sums, 'entries add up to the counts').to.deep.equal(found.minutes)
        }
        const counts = Object.fromEntries((await digests(index)).map((digest) => [digest.collection, digest.entries]))
        expect(counts['lines']).to.equal(history.filter(({ collection }) => collection === 'lines').length)
      })
    }

    const changes: Readonly<Record<string, (entry: Entry) => Entry>> = {
      'a character of the document': (entry) => ({ ...entry, document: { ...entry.document, text: 'a worc' } }),
      'a field of the document': (entry) => ({ ...entry, document: { ...entry.document, level: 'warn' } }),
      'the position': (entry) => ({ ...entry, position: 2 }),
      'the id': (entry) => ({ ...entry, id: `${entry.id}0` }),
    }
    for (const [what, change] of Object.entries(changes)) {
      it(`tells entries apart that differ in ${what}`, async () => {
        const entry: Entry = lineEntry({ text: 'a word', level: 'info' }, 1)
        await write([entry], 3)
        await write([change(entry)], 3, second)
        expect((await lineDigest(index))?.content).not.to.equal((await lineDigest(second))?.content)
        const [one] = await frozen(index, (held) => collect(held.fingerprints('lines')))
        const [two] = await frozen(second, (held) => collect(held.fingerprints('lines')))
        expect(one?.hash).to.match(/^[0-9a-f]{32}$/)
        expect(one).not.to.deep.equal(two)
      })
    }

    for (const [field, value] of Object.entries({ level: 'warn', size: 7, text: 'a worc' }))
      it(`tells entries apart that differ in what searches find alone: ${field}`, async () => {
        const { searchable } = lines
        const beside = 'fixture-v1-003'
        const otherwise: Collection<Line> = { ...lines, searchable: (line) => searchable({ ...line, [field]: value }) }
        await store.writer.open(beside, { ...fixture, collections: { lines: otherwise, things, sets } }, epoch)
        const entry = lineEntry({ text: 'a word', level: 'info' }, 1)
        await write([entry], 3)
        await write([entry], 3, beside)
        const [one, two] = [await lineDigest(index), await lineDigest(beside)]
        expect(two?.entries).to.equal(1)
        expect([two?.content, two?.search]).not.to.deep.equal([one?.content, one?.search])
      })

    it('tells the same entries from the same entries once more', async () => {
      const entry = lineEntry({ text: 'a word' }, 1)
      await write([entry], 1)
      await write([entry, lineEntry({ text: 'a word', timeNs: noonNs }, 2)], 2, second)
      expect((await lineDigest(index))?.entries).to.equal(1)
      expect((await lineDigest(second))?.entries).to.equal(2)
      expect((await lineDigest(index))?.content).not.to.equal((await lineDigest(second))?.content)
    })

    it('shows all that is stored of an entry', async () => {
      const entry = lineEntry({ text: 'a word', level: 'info' }, 1)
      await write([entry], 1)
      const shown = await frozen(index, (held) => held.stored('lines', entry.id))
      expect(Object.values(shown ?? {}).join('\n'))
        .to.contain('a word')
        .and.to.contain('info')
        .and.to.contain(entry.id)
      expect(await frozen(index, (held) => held.stored('lines', 'x'))).to.equal(undefined)
      expect(await frozen(index, (held) => held.stored('none', entry.id))).to.equal(undefined)
    })

    it('gives the entries as they were written, in order of their ids', async () => {
      const history = randomHistory(createRandom(5))
      await writeAll(history)
      for (const collection of ['lines', 'things']) {
        const wanted = new Map(history.filter((entry) => entry.collection === collection).map((one) => [one.id, one]))
        const entries = await frozen(index, (held) => collect(held.entries(collection)))
        const ids = entries.map(({ id }) => id)
        expect(ids).to.deep.equal([...wanted.keys()].toSorted())
        const text = (entry: Entry | undefined) => stringifyJson([entry?.document, entry?.position, entry?.created])
        expect(entries.map(text)).to.deep.equal(ids.map((id) => text(wanted.get(id))))
        const prints = await frozen(index, (held) => collect(held.fingerprints(collection)))
        expect(prints.map(({ id, position }) => [id, position])).to.deep.equal(
          entries.map(({ id, position }) => [id, position]),
        )
        const [first] = entries
        expect(await frozen(index, (held) => held.entry(collection, first?.id ?? ''))).to.deep.equal(first)
        expect(await frozen(index, (held) => held.entry(collection, 'x'))).to.equal(undefined)
      }
    })

    it('freezes parts that say where they stand while the build is held, and then again', async () => {
      await write([lineEntry({}, 1)], 5)
      const hold = await store.audit.hold(index)
      const position = await frozen(index, async (held) => held.position)
      await hold.release()
      await write([lineEntry({}, 9)], 9)
      expect([position, await frozen(index, async (held) => held.position)]).to.deep.equal([5, 9])
    })

    it('stands still while it is frozen, at the position that it says', async () => {
      await write([lineEntry({}, 1)], 5)
      const held = await store.audit.freeze(index, today)
      const before = await held.digests()
      await write([lineEntry({}, 9), thingEntry('t', {}, 9)], 9)
      expect(held.position).to.equal(5)
      expect(await held.digests()).to.deep.equal(before)
      expect(await collect(held.fingerprints('lines'))).to.have.length(1)
      await held.release()
      expect(await frozen(index, async ({ position }) => position)).to.equal(9)
      expect(await digests(index)).not.to.deep.equal(before)
    })

    it('copies a workspace as it stands, and nothing of another', async () => {
      await writeAll(randomHistory(createRandom(7)))
      await write([lineEntry({}, 99)], 99, index, other)
      await store.audit.copy(index, second, acme)
      await store.audit.copy(index, second, 'third' as typeof acme)
      expect(await digests(second)).to.deep.equal(await digests(index))
      expect((await store.audit.parts(second)).map(({ workspaceId }) => workspaceId)).to.deep.equal(['acme'])
      const last = lineEntry({ text: 'later' }, 100)
      for (const build of [index, second]) await write([last], 100, build)
      expect(await digests(second)).to.deep.equal(await digests(index))
      expect(await frozen(second, async ({ position }) => position)).to.equal(100)
    })
  })
}
