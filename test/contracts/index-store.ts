import { expect } from 'chai'
import { after as afterAll, afterEach, beforeEach, describe, it } from 'mocha'
import type { Filter } from '#projections/index-store.ts'
import type { Entry, Projection } from '#projections/projection.ts'
import {
  acme,
  day,
  epoch,
  everything,
  fixture,
  idsOf,
  index,
  lineEntry,
  noonNs,
  other,
  scopeOf,
  lines,
  sets,
  thingEntry,
  things,
  write,
  type Line,
  type OpenIndexStore,
  type Thing,
  openFixture,
} from '#test/support/index-fixture.ts'
import { buildClauses } from './index-builds.ts'
import { erasureClauses } from './index-erasures.ts'
import { countClauses } from './index-store-counts.ts'
import { filterClauses } from './index-store-filters.ts'
import { patternClauses } from './index-store-patterns.ts'
import { retentionClauses } from './index-retention.ts'
import { orderClauses } from './index-store-order.ts'
import { expectOneStep } from './one-step.ts'
import { liveOf, promote } from '#test/support/promote.ts'

/** A place for an index: opened as often as the test likes, one at a time. */
export type IndexStorePlace = Readonly<{ open(): Promise<OpenIndexStore>; remove(): Promise<void> }>

const previousDay = '2026-11-20'
const minuteNs = 60_000_000_000n

/** The contract of IndexWriter and IndexReader (projections/index-store.ts): every adapter passes it. */
export function indexStoreContract(name: string, create: () => Promise<IndexStorePlace>): void {
  describe(`index store: ${name}`, () => {
    let place: IndexStorePlace
    let store: OpenIndexStore
    const places: IndexStorePlace[] = []

    const restart = async (): Promise<void> => {
      await store.reader.close()
      await store.writer.close()
      store = await place.open()
    }
    const reopen = async (): Promise<void> => {
      await restart()
      await store.writer.open(index, fixture, epoch)
    }
    beforeEach(async () => {
      place = await create()
      places.push(place)
      store = await place.open()
      await openFixture(store.writer)
    })
    afterEach(async () => {
      await store.reader.close()
      await store.writer.close()
    })
    afterAll(async () => {
      await Promise.all(places.map(({ remove }) => remove()))
    })

    const ids = (collection: string, filter: Filter = everything) => idsOf(store.reader, collection, filter)

    describe('builds', () => {
      it('knows nothing of an index that is not there', async () => {
        expect(await store.writer.checkpoint('fixture-v9-001')).to.deep.equal({ epoch: '', position: 0 })
        expect(await liveOf(store.writer, 'nothing')).to.equal(undefined)
        expect(await store.reader.progress('nothing')).to.equal(undefined)
        const scope = { ...scopeOf('lines'), projection: 'nothing' }
        expect(await store.reader.get(scope, ['x'])).to.deep.equal([])
        expect(await store.reader.count(scope, { filter: everything })).to.equal(0)
      })

      it('refuses an index that follows another log', async () => {
        const failure = await store.writer.open(index, fixture, 'epoch-2').catch((error: unknown) => error)
        expect(failure).to.have.property('name', 'PermanentError')
        await restart()
        const again = await store.writer.open(index, fixture, 'epoch-2').catch((error: unknown) => error)
        expect(again).to.have.property('name', 'PermanentError')
      })

      it('refuses an index with other collections, as a program without another version of the projection may have', async () => {
        // It holds nothing that another program has made.
        if (name === 'memory') return
        for (const collections of [
          { lines, things },
          { lines, things, sets, more: { ...sets, name: 'more' } },
          { lines, things: { ...things, lookbackDays: 3 }, sets },
          { lines, things: { ...things, fields: { ...things.fields, note: 'keyword' } }, sets },
        ] as readonly Projection['collections'][]) {
          await restart()
          const failure = await store.writer.open(index, { ...fixture, collections }, epoch).catch(String)
          expect(failure).to.match(/^PermanentError: .*its collections are others/)
        }
        await reopen()
      })

      it('moves readers to the promoted build in one step', async () => {
        await write(store.writer, [lineEntry({ text: 'old' }, 1)], 1)
        await store.writer.open('fixture-v1-002', fixture, epoch)
        const entry = lineEntry({ text: 'new' }, 2)
        await store.writer.write('fixture-v1-002', [{ workspaceId: acme, entries: [entry] }], { epoch, position: 2 })
        const move = () => promote(store.writer, 'fixture', 'fixture-v1-002')
        await expectOneStep(store.reader, move, { from: lineEntry({}, 1).id, to: entry.id })
        expect(await liveOf(store.writer, 'fixture')).to.equal('fixture-v1-002')
      })

      it('tells readers what the last heartbeat said', async () => {
        await store.writer.heartbeat(index, {
          position: 5,
          head: 9,
          at: 1_700_000_000_000,
          caughtUpAt: 1_699_999_999_000,
        })
        expect(await store.reader.progress('fixture')).to.deep.equal({
          index,
          after: 0,
          position: 5,
          head: 9,
          at: 1_700_000_000_000,
          caughtUpAt: 1_699_999_999_000,
        })
      })

      it('tells them what is ahead of the position too, as long as it is said', async () => {
        const told = { position: 5, head: 9, at: 1_700_000_000_000, caughtUpAt: 1_699_999_999_000 }
        const ahead = { position: 8, caughtUpAt: 1_699_999_999_500, behind: new Map([[acme, 6]]) }
        await store.writer.heartbeat(index, { ...told, ahead })
        expect(await store.reader.progress('fixture')).to.deep.equal({ index, after: 0, ...told, ahead })
        expect((await store.writer.builds('fixture'))[0]?.heartbeat).to.deep.equal({ ...told, ahead })
        const further = { ...ahead, position: 9, behind: new Map() }
        await store.writer.heartbeat(index, { ...told, ahead: further })
        expect((await store.reader.progress('fixture'))?.ahead).to.deep.equal(further)
        await store.writer.heartbeat(index, { ...told, position: 9 })
        expect(await store.reader.progress('fixture')).to.deep.equal({ index, after: 0, ...told, position: 9 })
      })

      it('tells them of whom it leaves out events, as long as it is said', async () => {
        const told = { position: 5, head: 9, at: 1_700_000_000_000, caughtUpAt: 1_699_999_999_000 }
        await store.writer.heartbeat(index, { ...told, lacking: [acme] })
        expect(await store.reader.progress('fixture')).to.deep.equal({ index, after: 0, ...told, lacking: [acme] })
        expect((await store.writer.builds('fixture'))[0]?.heartbeat).to.deep.equal({ ...told, lacking: [acme] })
        await store.writer.heartbeat(index, { ...told, position: 9 })
        expect(await store.reader.progress('fixture')).to.deep.equal({ index, after: 0, ...told, position: 9 })
      })

      it('does not say after it was opened again what was ahead', async () => {
        if (name === 'memory') return
        const told = { position: 0, head: 9, at: 1_700_000_000_000, caughtUpAt: 1_699_999_999_000 }
        await store.writer.heartbeat(index, { ...told, ahead: { position: 8, caughtUpAt: 1, behind: new Map() } })
        await reopen()
        await store.writer.heartbeat(index, { ...told, at: told.at + 1 })
        expect(await store.reader.progress('fixture')).to.not.have.property('ahead')
      })
    })

    describe('writing', () => {
      it('has what was written, and its checkpoint, after it was closed and opened', async () => {
        if (name === 'memory') return
        const entries = [lineEntry({ text: 'kept' }, 1), thingEntry('t', { note: 'kept too' }, 2)]
        await write(store.writer, entries, 2)
        await reopen()
        expect(await store.writer.checkpoint(index)).to.deep.equal({ epoch, position: 2 })
        expect(await liveOf(store.writer, 'fixture')).to.equal(index)
        expect(await ids('lines', { kind: 'phrase', fields: ['message'], tokens: ['kept'] })).to.have.length(1)
        expect(await ids('things', { kind: 'phrase', fields: ['note'], tokens: ['kept', 'too'] })).to.deep.equal(['t'])
      })

      it('keeps its checkpoint where it is for what is written ahead, and takes that once', async () => {
        const ahead = [thingEntry('ahead', { note: 'first' }, 7)]
        await store.writer.write(index, [{ workspaceId: acme, entries: ahead }], { epoch, position: 8, isAhead: true })
        const at = 1_700_000_000_000
        await store.writer.heartbeat(index, { position: 0, head: 8, at, caughtUpAt: at })
        expect(await store.writer.checkpoint(index)).to.deep.equal({ epoch, position: 0 })
        expect(await ids('things')).to.deep.equal(['ahead'])
        // As who begins at the checkpoint again meets it.
        await write(store.writer, [thingEntry('ahead', { note: 'earlier' }, 5)], 6)
        expect(await ids('things', { kind: 'phrase', fields: ['note'], tokens: ['first'] })).to.deep.equal(['ahead'])
        await write(store.writer, [thingEntry('ahead', { note: 'later' }, 9)], 9)
        expect(await ids('things', { kind: 'phrase', fields: ['note'], tokens: ['later'] })).to.deep.equal(['ahead'])
      })

      it('never has a checkpoint ahead of what was written', async () => {
        await write(store.writer, [lineEntry({}, 7)], 7)
        expect((await store.writer.checkpoint(index)).position).to.be.at.most(7)
        await write(store.writer, [], 9)
        expect((await store.writer.checkpoint(index)).position).to.be.at.most(9)
      })

      it('loads the entries of a key from its day and the look-back before it, newest first', async () => {
        const entries = [
          thingEntry('t', { weight: 1 }, 1, { day: '2026-11-18' }),
          thingEntry('t', { weight: 2 }, 2, { day: '2026-11-19' }),
          thingEntry('t', { weight: 3 }, 3, { day }),
          thingEntry('t', { weight: 4 }, 4, { day: '2026-11-22' }),
        ]
        await write(store.writer, entries, 4)
        const key = { workspaceId: acme, collection: 'things', id: 't', day }
        const [found, missing, elsewhere] = await store.writer.load(index, [
          key,
          { ...key, id: 'u' },
          { ...key, workspaceId: other },
        ])
        expect(found?.map((entry) => (entry.document as Thing).weight)).to.deep.equal([3, 2])
        expect(found?.[0]).to.include({ collection: 'things', id: 't', day, position: 3, created: 3 })
        expect([missing, elsewhere]).to.deep.equal([[], []])
      })

      it('replaces a document whole: what it was found by before finds it no more', async () => {
        await write(store.writer, [thingEntry('t', { weight: 1, tags: ['a', 'b'], note: 'first form' }, 1)], 1)
        const second = { timeNs: noonNs + 5_000_000_000n, weight: 2, tags: ['b', 'c'], note: 'second form' }
        await write(store.writer, [thingEntry('t', second, 2, { created: 1 })], 2)
        const phrase = (token: string): Filter => ({ kind: 'phrase', fields: ['note'], tokens: [token] })
        expect(await ids('things', phrase('first'))).to.deep.equal([])
        expect(await ids('things', phrase('second'))).to.deep.equal(['t'])
        expect(await ids('things', { kind: 'keyword', field: 'tags', values: ['a'] })).to.deep.equal([])
        expect(await ids('things', { kind: 'keyword', field: 'tags', values: ['c'] })).to.deep.equal(['t'])
        expect(await ids('things', { kind: 'number', field: 'weight', to: 1 })).to.deep.equal([])
        const third = { ...second, weight: 3 }
        await write(store.writer, [thingEntry('t', third, 3, { created: 1 })], 3)
        expect(await ids('things', phrase('second'))).to.deep.equal(['t'])
        expect(await ids('things')).to.deep.equal(['t'])
        expect((await store.reader.get<Thing>(scopeOf('things'), ['t']))[0]?.document.weight).to.equal(3)
        await write(store.writer, [thingEntry('t', { ...third, tags: ['d'], note: 'last form' }, 4, { created: 1 })], 4)
        expect(await ids('things', phrase('second'))).to.deep.equal([])
        expect(await ids('things', { kind: 'keyword', field: 'tags', values: ['b', 'c'] })).to.deep.equal([])
        expect(await ids('things', phrase('last'))).to.deep.equal(['t'])
        expect(await ids('things', { kind: 'keyword', field: 'tags', values: ['D'] })).to.deep.equal(['t'])
      })

      it('finds a document by its ids, which are not counted', async () => {
        const thing: Thing = { timeNs: noonNs, weight: 1, tags: ['a'], note: 'First form' }
        await write(store.writer, [thingEntry('t', thing, 1, { created: 1 })], 1)
        expect(await ids('things', { kind: 'keyword', field: 'words', values: ['x', 'FORM'] })).to.deep.equal(['t'])
        expect(await ids('things', { kind: 'keyword', field: 'words', values: ['second'] })).to.deep.equal([])
        expect(
          await store.reader.facets(scopeOf('things'), { filter: everything }, ['words', 'tags'], 5),
        ).to.deep.equal([
          { field: 'words', values: [] },
          { field: 'tags', values: [{ value: 'a', count: 1 }] },
        ])
      })

      it('leaves out a batch that comes again, also in other cuts', async () => {
        const batch = [
          lineEntry({ level: 'info' }, 1),
          lineEntry({ level: 'info' }, 2),
          thingEntry('t', { weight: 1 }, 2),
        ]
        await write(store.writer, batch, 2)
        await write(store.writer, batch, 2)
        await write(store.writer, batch.slice(0, 1), 1)
        const wider = [...batch, lineEntry({ level: 'warn' }, 3)]
        await write(store.writer, wider, 3)
        expect(await store.reader.count(scopeOf('lines'), { filter: everything })).to.equal(3)
        const [bucket] = await store.reader.histogram(scopeOf('lines'), { filter: everything }, minuteNs, 'level')
        expect(bucket?.by).to.deep.equal({ info: 2, warn: 1 })
      })

      it('takes away the record that another replaces, wherever in the look-back it is', async () => {
        const old = lineEntry({ level: 'info', text: 'old form' }, 1, { day: previousDay })
        const twin = lineEntry({ level: 'info', text: 'twin' }, 2)
        await write(store.writer, [old, twin], 2)
        const next = lineEntry({ level: 'warn', text: 'new form' }, 3, { id: old.id, replaces: true })
        await write(store.writer, [next], 3)
        await write(store.writer, [{ ...next, position: 4 }], 4)
        expect(await store.reader.count(scopeOf('lines'), { filter: everything })).to.equal(2)
        expect(await ids('lines', { kind: 'phrase', fields: ['message'], tokens: ['old'] })).to.deep.equal([])
        expect(await ids('lines', { kind: 'phrase', fields: ['message'], tokens: ['new', 'form'] })).to.deep.equal([
          old.id,
        ])
        const [bucket] = await store.reader.histogram(scopeOf('lines'), { filter: everything }, minuteNs, 'level')
        expect(bucket).to.deep.include({ total: 2, by: { info: 1, warn: 1 } })
        await write(store.writer, [{ ...next, position: 4 }, lineEntry({}, 5)], 5)
        expect(await store.reader.count(scopeOf('lines'), { filter: everything }), 'again, in another cut').to.equal(3)
      })

      it('gives a document back as its JSON says, exact to the last digit', async () => {
        const weight = 9_007_199_254_740_993n
        await write(
          store.writer,
          [thingEntry('t', { weight, note: 'lone \ud800, nul \u0000, 支付 \ud83d\ude00' }, 1)],
          1,
        )
        const [hit] = await store.reader.get<Thing>(scopeOf('things'), ['t'])
        expect(hit?.document).to.deep.equal({
          timeNs: noonNs,
          weight,
          tags: [],
          note: 'lone \ud800, nul \u0000, 支付 \ud83d\ude00',
        })
        expect(await ids('things', { kind: 'number', field: 'weight', from: weight, to: weight })).to.deep.equal(['t'])
        expect(await ids('things', { kind: 'number', field: 'weight', to: weight - 1n })).to.deep.equal([])
      })
    })

    describe('workspaces', () => {
      it('never shows one to another, with equal ids and equal content', async () => {
        const mine = [lineEntry({ text: 'same', level: 'info' }, 1), thingEntry('t', { note: 'same', weight: 1 }, 1)]
        const theirs = [lineEntry({ text: 'same', level: 'warn' }, 1), thingEntry('t', { note: 'same', weight: 2 }, 1)]
        await store.writer.write(
          index,
          [
            { workspaceId: acme, entries: mine },
            { workspaceId: other, entries: theirs },
          ],
          { epoch, position: 1 },
        )
        for (const [workspaceId, level, weight] of [
          [acme, 'info', 1],
          [other, 'warn', 2],
        ] as const) {
          const scope = scopeOf('lines', workspaceId)
          const filter: Filter = { kind: 'phrase', fields: ['message'], tokens: ['same'] }
          const hits = await store.reader.search<Line>(scope, {
            filter,
            orderBy: 'timeNs',
            direction: 'desc',
            limit: 10,
          })
          expect(hits.map(({ document }) => document.level)).to.deep.equal([level])
          expect(await store.reader.count(scope, { filter: everything })).to.equal(1)
          const [facet] = await store.reader.facets(scope, { filter: everything }, ['level'], 10)
          expect(facet?.values).to.deep.equal([{ value: level, count: 1 }])
          const [thing] = await store.reader.get<Thing>(scopeOf('things', workspaceId), ['t'])
          expect(thing?.document.weight).to.equal(weight)
        }
        const third = { ...scopeOf('lines'), workspaceId: 'third' as typeof acme }
        expect(await store.reader.count(third, { filter: everything })).to.equal(0)
      })
    })

    describe('get', () => {
      it('answers in the order asked, each id once, the newest day, and leaves out what is not there', async () => {
        const line = lineEntry({ text: 'x', timeNs: -1n }, 1, { day: previousDay })
        await write(
          store.writer,
          [
            line,
            thingEntry('a', { weight: 1 }, 1, { day: previousDay }),
            thingEntry('a', { weight: 2 }, 2),
            thingEntry('b', {}, 2),
          ],
          2,
        )
        const hits = await store.reader.get<Thing>(scopeOf('things'), ['b', 'none', 'a', 'b'])
        expect(hits.map(({ id, document }) => [id, document.weight])).to.deep.equal([
          ['b', 0],
          ['a', 2],
        ])
        expect(hits[1]).to.deep.include({ day, timeNs: noonNs, position: 2, sort: { value: noonNs, id: 'a' } })
        const records = await store.reader.get<Line>(scopeOf('lines'), [line.id, 'not-a-record-id'])
        expect(records.map(({ id }) => id)).to.deep.equal([line.id])
      })

      it('finds documents that have no searchable field', async () => {
        const entry: Entry = { collection: 'sets', id: 's', day, document: { value: 'v' }, position: 1, created: 1 }
        await write(store.writer, [entry], 1)
        expect((await store.reader.get(scopeOf('sets'), ['s']))[0]?.document).to.deep.equal({ value: 'v' })
        expect(await ids('sets')).to.deep.equal(['s'])
        expect(await ids('sets', { kind: 'keyword', field: 'value', values: ['v'] })).to.deep.equal([])
      })
    })

    buildClauses(() => store)
    erasureClauses(() => store, reopen)
    retentionClauses(() => store, reopen)
    orderClauses(() => store)
    filterClauses(() => store)
    patternClauses(() => store)
    countClauses(() => store)
  })
}
