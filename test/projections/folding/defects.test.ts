import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { createDeadLetters } from '#projections/folding/dead-letters.ts'
import type { ProjectionFailure } from '#projections/folding/open-lanes.ts'
import type { Projection } from '#projections/projection.ts'
import { rebuild } from '#projections/builds/rebuild.ts'
import type { BuildContext } from '#projections/builds/build-place.ts'
import type { IndexReader, IndexWriter } from '#projections/index-store.ts'
import { createElasticsearchIndexWriter } from '#projections/stores/elasticsearch/writer.ts'
import { createMemoryIndexStore } from '#projections/stores/memory/store.ts'
import { createSqliteIndexReader } from '#projections/stores/sqlite/reading/reader.ts'
import { createSqliteIndexWriter } from '#projections/stores/sqlite/writing/writer.ts'
import { liveBuilds, verify } from '#projections/builds/verify.ts'
import { createMemoryStream } from '#streams/memory/stream.ts'
import { newPrefix } from '#test/streams/jetstream-log.ts'
import { elasticsearchContext, memoryContext, sqliteContext } from '#test/support/build-context.ts'
import { createElasticsearchIndexReader } from '#test/support/elasticsearch-reader.ts'
import { removeIndices } from '#test/support/elasticsearch.ts'
import { elasticsearchEngine, enginesTimeoutMs } from '#test/support/engines.ts'
import { counting, defective, failingOn, failingTwice, mirror } from '#test/support/line-projections.ts'
import { append, start, totals, untilAtRest } from '#test/support/projector-run.ts'
import { limits } from '#test/support/sqlite-fixture.ts'

type Given = Parameters<typeof memoryContext>[0]
type Place = Readonly<{
  writer: () => IndexWriter
  reader: () => IndexReader
  context: (given: Given) => BuildContext
  remove: () => Promise<void> | void
}>

const places: Readonly<Record<string, () => Promise<Place> | Place>> = {
  memory: () => {
    const store = createMemoryIndexStore()
    return {
      writer: () => store.writer,
      reader: () => store.reader,
      context: (given: Given) => memoryContext(given, store),
      remove: () => {},
    }
  },
  sqlite: () => {
    const folder = mkdtempSync(join(tmpdir(), 'throughline-defects-'))
    return {
      writer: () => createSqliteIndexWriter({ folder, limits }),
      reader: () => createSqliteIndexReader({ folder, limits }),
      context: (given: Given) => sqliteContext(given, folder),
      remove: () => rmSync(folder, { recursive: true }),
    }
  },
  elasticsearch: async () => {
    const folder = mkdtempSync(join(tmpdir(), 'throughline-defects-'))
    const connection = { url: await elasticsearchEngine(), prefix: newPrefix(), partition: 0 }
    return {
      writer: () => createElasticsearchIndexWriter({ ...connection, refreshEveryMs: 0 }),
      reader: () => createElasticsearchIndexReader({ ...connection, limits: { patternExpansionsMax: 1_000 } }),
      context: (given: Given) => elasticsearchContext(given, { ...connection, folder }),
      remove: async () => {
        await removeIndices(connection.url, connection.prefix)
        rmSync(folder, { recursive: true })
      },
    }
  },
}

for (const [name, create] of Object.entries(places)) {
  describe(`a program with a defect, ${name}`, function () {
    if (name === 'elasticsearch') this.timeout(enginesTimeoutMs)
    let place: Place
    let stream: ReturnType<typeof createMemoryStream>
    beforeEach(async () => {
      place = await create()
      stream = createMemoryStream({ partition: '0' })
    })
    afterEach(() => place.remove())

    const letters = () => createDeadLetters({ stream, clock: () => 5 })
    /** Until one of them is at the log's head, as it is after what they decide; what has failed. */
    const follow = async (...projections: readonly Projection[]): Promise<readonly ProjectionFailure[]> => {
      const writer = place.writer()
      const failures: ProjectionFailure[] = []
      const run = start({ stream, writer, projections, failures })
      await untilAtRest(stream, run)
      await run.stop()
      await writer.close()
      return failures
    }
    const found = async () => {
      const reader = place.reader()
      const all = await totals(reader)
      await reader.close()
      return all
    }
    const isEqual = async (): Promise<unknown> => {
      const context = place.context({ stream, projections: [counting] })
      return (await verify(context, await liveBuilds(context, ['counting'])))[0]?.equal
    }

    for (const [part, broken] of Object.entries(defective('poison'))) {
      it(`that one event meets (${part}) leaves out that event, and folds the others`, async () => {
        await append(stream, [['a'], ['b'], ['a', 'poison', 'a'], ['a']])
        expect(await follow(broken)).to.deep.equal([])
        const [letter, ...more] = await letters().letters(counting)
        expect(more).to.deep.equal([])
        expect(letter).to.include({ position: 3 * 4096, state: 'open' })
        const reason = letter && (await letters().reason(letter))
        expect(reason).to.match(
          /^fold logs\.received at 12288: TypeError in test\/support\/line-projections\.ts:\d+:\d+: undefined is not a word$/,
        )
        expect(await found()).to.deep.equal({ a: 2, b: 1 })
        expect(await isEqual()).to.equal(true)
        // Mended, it leaves the event out too, until somebody has it retried.
        await letters().settle(counting, 3 * 4096, 'retried')
        expect(await follow(counting)).to.deep.equal([])
        expect(await found()).to.deep.equal({ a: 4, b: 1, poison: 1 })
        expect(await isEqual()).to.equal(true)
      })

      it(`that a rebuild meets (${part}) leaves out that event there`, async () => {
        await append(stream, [['a'], ['poison'], ['b']])
        const context = place.context({ stream, projections: [broken] })
        if (name === 'elasticsearch' && part === 'index') {
          // Written a batch behind: whose event it was is not known any more.
          const failure: unknown = await rebuild(context, [broken]).catch((error: unknown) => error)
          expect(String(failure)).to.match(
            /write counting-v1-001: TypeError in test\/support\/line-projections\.ts:\d+:\d+: undefined is not a word/,
          )
          return
        }
        const [rebuilt] = await rebuild(context, [broken])
        expect(rebuilt).to.deep.include({ outcome: 'moved' })
        expect(await found()).to.deep.equal({ a: 1, b: 1 })
      })
    }

    it('that most events meet leaves readers where they are: in an upgrade, and in a rebuild', async () => {
      await append(stream, [...Array.from({ length: 6 }, () => ['poison']), ['a'], ['b']])
      await follow(counting)
      const before = await found()
      const broken = defective('poison').fold
      const failures = await follow({ ...broken, version: 2 }, mirror)
      expect(failures.map(({ projection }) => projection)).to.deep.equal(['counting'])
      expect(String(failures[0]?.error)).to.match(
        /fails with 4 of 4 logs\.received: .*undefined is not a word \(.*mend the program/,
      )
      expect(await letters().letters({ ...broken, version: 2 })).to.deep.equal([])
      expect(await found()).to.deep.equal(before)
      const rebuilt: unknown = await rebuild(place.context({ stream, projections: [broken] }), [broken]).catch(String)
      expect(rebuilt).to.match(/fails with 6 of 8 logs\.received: .*undefined is not a word/)
      expect(await letters().letters(broken)).to.deep.equal([])
      expect(await found()).to.deep.equal(before)
    })

    it('that most events meet as they are decoded leaves readers where they are too', async () => {
      await append(stream, [...Array.from({ length: 6 }, () => ['poison']), ['a'], ['b']])
      await follow(counting)
      const before = await found()
      const upgraded = { ...counting, version: 2 }
      const decoders = failingOn('poison')
      const writer = place.writer()
      const failures: ProjectionFailure[] = []
      const run = start({ stream, writer, projections: [upgraded, mirror], decoders, failures })
      await untilAtRest(stream, run)
      await run.stop()
      await writer.close()
      expect(String(failures[0]?.error)).to.match(/fails with 4 of 4 logs\.received: .*cannot read poison/)
      expect(await letters().letters(upgraded)).to.deep.equal([])
      expect(await found()).to.deep.equal(before)
      const context = place.context({ stream, projections: [counting], decoders })
      expect(await rebuild(context, [counting]).catch(String)).to.match(/fails with 6 of 8 logs\.received/)
      expect(await letters().letters(counting)).to.deep.equal([])
      expect(await found()).to.deep.equal(before)
    })

    it('that only events meet which readers lack already keeps no upgrade and no rebuild from its end', async () => {
      await append(stream, [...Array.from({ length: 6 }, () => ['poison']), ['a'], ['b']])
      const decoders = failingOn('poison')
      for (const version of [1, 2]) {
        const [failures, writer] = [[] as ProjectionFailure[], place.writer()]
        const run = start({ stream, writer, projections: [{ ...counting, version }], decoders, failures })
        await Promise.race([untilAtRest(stream, run), run.ended])
        await run.stop()
        await writer.close()
        expect(failures, `version ${version}`).to.deep.equal([])
        expect(await letters().letters({ ...counting, version })).to.have.length(6)
        expect(await found()).to.deep.equal({ a: 1, b: 1 })
      }
      const third = { ...counting, version: 3 }
      // One that was retried may have been folded: readers do not lack it for sure.
      const retried = (await letters().letters({ ...counting, version: 2 })).slice(0, 2)
      for (const { position } of retried) await letters().settle({ ...counting, version: 2 }, position, 'retried')
      const [rebuilt] = await rebuild(place.context({ stream, projections: [third], decoders }), [third])
      expect(rebuilt).to.deep.include({ index: 'counting-v3-001' })
      expect(await letters().letters(third)).to.have.length(6)
    })

    it('that an event meets only beside what is stored stops it: that may be wrong', async () => {
      await append(stream, [['a'], ['b'], ['a'], ['c']])
      const failures = await follow(failingTwice, mirror)
      expect(failures.map(({ projection }) => projection)).to.include('counting')
      expect(failures[0]?.error).to.be.instanceOf(TypeError)
      expect(await letters().letters(counting)).to.deep.equal([])
    })
  })
}
