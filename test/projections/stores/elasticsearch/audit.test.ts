import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { afterEach, before, beforeEach, describe, it } from 'mocha'
import type { FrozenPart, IndexAudit, Part } from '#projections/index-audit.ts'
import type { IndexWriter } from '#projections/index-store.ts'
import type { Entry } from '#projections/projection.ts'
import { createElasticsearchIndexAudit } from '#projections/stores/elasticsearch/audit.ts'
import { createExpectedAudit } from '#projections/stores/elasticsearch/expected.ts'
import { createElasticsearchIndexWriter } from '#projections/stores/elasticsearch/writer.ts'
import { createMemoryIndexStore } from '#projections/stores/memory/store.ts'
import { createSqliteIndexAudit } from '#projections/stores/sqlite/auditing/audit.ts'
import { createSqliteIndexWriter } from '#projections/stores/sqlite/writing/writer.ts'
import { partitionNumber } from '#src/events/partition.ts'
import { present } from '#src/lib/assert.ts'
import { askElasticsearch, removeIndices } from '#test/support/elasticsearch.ts'
import { elasticsearchEngine, enginesTimeoutMs } from '#test/support/engines.ts'
import { startRecordingProxy } from '#test/support/recording-proxy.ts'
import { acme, day, epoch, fixture, index, lineEntry, other, thingEntry } from '#test/support/index-fixture.ts'

const today: Part = { workspaceId: acme, day }
const entries: readonly Entry[] = [
  lineEntry({ level: 'WARN', service: ['Cart', 'a"b'], size: -7, text: 'paid 支付 x=1' }, 1),
  lineEntry({ text: 'two', timeNs: 9_007_199_254_740_993n }, 2),
  thingEntry('t', { weight: 9_007_199_254_740_993n, note: '\ud800', tags: ['a', 'b'] }, 2),
  thingEntry('u'.repeat(600), { weight: 12n, note: '' }, 3, { created: 1 }),
]

describe('the audit of Elasticsearch', () => {
  let url = ''
  let prefix = ''
  let folder = ''
  let writer: IndexWriter
  let audit: IndexAudit
  before(async function () {
    this.timeout(enginesTimeoutMs)
    url = await elasticsearchEngine()
  })
  const writerOf = (more: Partial<Parameters<typeof createElasticsearchIndexWriter>[0]> = {}): IndexWriter =>
    createElasticsearchIndexWriter({ url, prefix, partition: 0, refreshEveryMs: 0, ...more })
  const auditOf = (partition: number, partitions: number): IndexAudit =>
    createElasticsearchIndexAudit({ url, prefix, partition, partitions })
  beforeEach(async () => {
    prefix = `test-${randomBytes(6).toString('hex')}`
    folder = mkdtempSync(join(tmpdir(), 'throughline-entries-'))
    writer = writerOf()
    audit = auditOf(0, 1)
    await writer.open(index, fixture, epoch)
  })
  afterEach(async () => {
    await audit.close()
    await writer.close()
    await removeIndices(url, prefix)
    rmSync(folder, { recursive: true })
  })
  const write = (position: number, written: readonly Entry[], workspaceId = acme): Promise<void> =>
    writer.write(index, [{ workspaceId, entries: written }], { epoch, position })

  async function look<T>(of: IndexAudit, task: (part: FrozenPart) => Promise<T>): Promise<T> {
    const part = await of.freeze(index, today)
    try {
      return await task(part)
    } finally {
      await part.release()
    }
  }
  const shown = (of: IndexAudit, name: string) =>
    look(of, async (part) => {
      const prints: unknown[] = []
      const stored: unknown[] = []
      for await (const print of part.fingerprints(name)) {
        prints.push(print)
        stored.push(await part.stored(name, print.id))
      }
      return { prints, stored }
    })

  const places: Readonly<Record<string, () => Readonly<{ writer: IndexWriter; audit: IndexAudit }>>> = {
    'another engine': () => createMemoryIndexStore(),
    'files that keep entries alone': () => ({
      writer: createSqliteIndexWriter({ folder, limits: { indexFilesOpenMax: 8 }, keeps: 'entries' }),
      audit: createSqliteIndexAudit({ folder }),
    }),
  }
  for (const [what, placeOf] of Object.entries(places)) {
    it(`finds what is told by ${what} to be expected`, async () => {
      await write(3, entries)
      const place = placeOf()
      await place.writer.open(index, fixture, epoch)
      await place.writer.write(index, [{ workspaceId: acme, entries }], { epoch, position: 3 })
      const expected = createExpectedAudit(place.audit, () => fixture, epoch)
      const digests = await look(audit, (part) => part.digests())
      expect(digests.map((digest) => digest.entries)).to.deep.equal([2, 2])
      expect(await look(expected, (part) => part.digests())).to.deep.equal(digests)
      for (const name of ['lines', 'things'])
        expect(await shown(expected, name)).to.deep.equal(await shown(audit, name))
      await place.writer.close()
    })
  }

  const body = (change: object) => ({ method: 'PUT', body: JSON.stringify(change) })
  const tampered: Readonly<Record<string, (path: string, source: Record<string, unknown>) => Promise<unknown>>> = {
    'one written again as it was': (path, source) => askElasticsearch(url, path, body(source)),
    'a field that is not looked at': (path, source) => askElasticsearch(url, path, body({ ...source, more: 1 })),
    'another workspace in it': (path, source) => askElasticsearch(url, path, body({ ...source, w: 'other' })),
    'one that is gone': (path) => askElasticsearch(url, path, { method: 'DELETE' }),
    'the same under another key': (path, source) =>
      askElasticsearch(url, path.replace('_doc/', '_doc/x'), body({ ...source })),
    'one without an id': (path, { i: _id, ...source }) =>
      askElasticsearch(url, path.replace('_doc/', '_doc/x'), body(source)),
  }
  for (const [what, tamper] of Object.entries(tampered)) {
    it(`sees a document that was changed behind the writer: ${what}`, async () => {
      await write(3, entries)
      const name = `${prefix}-${index}-lines-${day.replaceAll('-', '.')}`
      const before = await look(audit, (part) => part.digests())
      const found = await askElasticsearch(url, `/${name}/_search?size=1`)
      const hit = (found['hits'] as { hits: readonly Record<string, unknown>[] }).hits[0] ?? {}
      const path = `/${name}/_doc/${encodeURIComponent(String(hit['_id']))}?routing=${acme}`
      await tamper(path, hit['_source'] as Record<string, unknown>)
      expect(await look(audit, (part) => part.digests())).not.to.deep.equal(before)
    })
  }

  it('knows the parts of its own partition', async () => {
    await write(1, [lineEntry({}, 1)])
    await write(2, [lineEntry({}, 2)], other)
    const found: string[][] = []
    for (const partition of [0, 1, 2, 3, 4, 5, 6]) {
      const one = auditOf(partition, 7)
      found.push((await one.parts(index)).map(({ workspaceId }) => workspaceId))
      await one.close()
    }
    const wanted = found.map((_, partition) => [acme, other].filter((each) => partitionNumber(each, 7) === partition))
    expect(found).to.deep.equal(wanted)
  })

  it('keeps the moment at which it is held, for all parts', async () => {
    await write(1, [lineEntry({}, 1)])
    await writer.heartbeat(index, { position: 1, head: 1, at: 1, caughtUpAt: 1 })
    const held = await audit.hold(index)
    await write(2, [lineEntry({}, 2), lineEntry({}, 3, { day: '2026-11-22' })])
    await writer.heartbeat(index, { position: 2, head: 2, at: 2, caughtUpAt: 2 })
    expect(await audit.parts(index)).to.deep.equal([today])
    expect(await look(audit, async (part) => [part.position, (await part.digests())[0]?.entries])).to.deep.equal([1, 1])
    await held.release()
    expect(await audit.parts(index)).to.have.length(2)
    expect(await look(audit, async (part) => [part.position, (await part.digests())[0]?.entries])).to.deep.equal([2, 2])
  })

  it('holds a build of more days than one address can name, which is opened again too', async () => {
    const shorter = prefix
    prefix = `long-${randomBytes(17).toString('hex')}`
    const days = Array.from({ length: 30 }, (_, number) => `2026-10-${String(number + 1).padStart(2, '0')}`)
    const written = days.flatMap((each, number) => [
      lineEntry({}, number + 1, { day: each }),
      thingEntry(each, {}, number + 1, { day: each }),
    ])
    const [first, again, own] = [writerOf({ refreshEveryMs: 1e9 }), writerOf(), auditOf(0, 1)]
    await first.open(index, fixture, epoch)
    await first.write(index, [{ workspaceId: acme, entries: written }], { epoch, position: 30 })
    await first.close()
    await again.open(index, fixture, epoch)
    expect((await own.parts(index)).map((part) => part.day)).to.have.members(days)
    await again.eraseWorkspace(index, acme, 31)
    expect(await own.parts(index)).to.deep.equal([])
    await again.close()
    await own.close()
    await removeIndices(url, prefix)
    prefix = shorter
  })

  describe('while days are dropped', () => {
    const yesterday: Part = { workspaceId: acme, day: '2026-11-20' }
    const dropYesterday = (): Promise<number> => writer.dropDays(index, { of: () => day, all: day })
    beforeEach(async () => {
      await write(1, [lineEntry({}, 1, { day: yesterday.day }), thingEntry('t', {}, 1, { day: yesterday.day })])
      await write(2, [lineEntry({}, 2)])
    })

    it('a build that is held has the other days on', async () => {
      const held = await audit.hold(index)
      const before = await look(audit, (part) => part.digests())
      expect(await dropYesterday()).to.equal(2)
      expect(await look(audit, (part) => part.digests())).to.deep.equal(before)
      const gone = await audit.freeze(index, yesterday)
      expect(await gone.digests()).to.deep.equal([])
      await gone.release()
      expect(await audit.parts(index)).to.deep.equal([today])
      await held.release()
    })

    it('a walk through a day goes on, and one through a day that goes ends', async () => {
      await write(
        3,
        Array.from({ length: 600 }, (_, size) => lineEntry({ size }, 3 + size)),
      )
      await write(
        700,
        Array.from({ length: 600 }, (_, size) => lineEntry({ size }, 700 + size, { day: yesterday.day })),
      )
      for (const [part, entries] of [
        [yesterday, 32],
        [today, 601],
      ] as const) {
        if (part === today) await write(2_000, [lineEntry({}, 2_000, { day: yesterday.day })])
        const frozen = await audit.freeze(index, part)
        let walked = 0
        for await (const _ of frozen.entries('lines')) if (++walked === 1) await dropYesterday()
        await frozen.release()
        expect(walked).to.equal(entries)
      }
    })

    it('all of a day is counted, once, also when another goes and it changes while it is', async () => {
      const lines = Array.from({ length: 600 }, (_, size) => lineEntry({ size }, 3 + size))
      const changed = lineEntry({ size: 7 }, 2_000, { id: present(lines[0], 'a line').id })
      await write(3, lines)
      let searches = 0
      const proxy = await startRecordingProxy(url, async (line) => {
        if (!line.includes('_search') || ++searches !== 2) return
        await dropYesterday()
        await write(2_000, [changed])
      })
      const behind = createElasticsearchIndexAudit({ url: proxy.url, prefix, partition: 0, partitions: 1 })
      const counted = await look(behind, (part) => part.digests())
      expect(counted.map(({ entries }) => entries)).to.deep.equal([601])
      expect(counted).to.deep.equal(await look(audit, (part) => part.digests()))
      expect(await audit.parts(index), 'the other is gone').to.deep.equal([today])
      await behind.close()
      await proxy.close()
    })

    for (const step of ['_refresh', '_pit', '_search']) {
      it(`a workspace is erased from the days that are left, also when one goes right before ${step}`, async () => {
        let isDue = false
        const proxy = await startRecordingProxy(url, async (line) => {
          if (!isDue || !line.includes(step)) return
          isDue = false
          await dropYesterday()
        })
        const behind = writerOf({ url: proxy.url })
        await behind.open(index, fixture, epoch)
        isDue = true
        await behind.eraseWorkspace(index, acme, 10)
        expect(isDue, 'it was dropped meanwhile').to.equal(false)
        expect(await audit.parts(index)).to.deep.equal([])
        await behind.close()
        await proxy.close()
      })
    }
  })

  const momentOf = (method: string) => new RegExp(`^${method} [^?\\n]*/_pit`)

  it('reads nothing of the documents of a workspace that is erased, but where they are', async () => {
    await write(4, [thingEntry('one', {}, 4), thingEntry('two', {}, 4)])
    const proxy = await startRecordingProxy(url)
    const behind = writerOf({ url: proxy.url })
    await behind.open(index, fixture, epoch)
    proxy.take()
    await behind.eraseWorkspace(index, acme, 10)
    const requests = proxy.take()
    const searches = requests.filter((line) => line.includes('"pit"') && line.includes('/_search'))
    expect(searches).to.not.deep.equal([])
    for (const line of searches) expect(line).to.include('"_source":false')
    const moments = ['POST', 'DELETE'].map((method) => requests.filter((line) => momentOf(method).test(line)).length)
    expect(moments, 'opened and given back').to.deep.equal([1, 1])
    expect(await audit.parts(index)).to.deep.equal([])
    await behind.close()
    await proxy.close()
  })

  it('asks for fewer documents at once where they are large, and for more again', async () => {
    const large = Array.from({ length: 24 }, (_, n) => thingEntry(`large ${n}`, { note: 'x'.repeat(2 ** 20) }, 4))
    const small = Array.from({ length: 20 }, (_, n) => thingEntry(`small ${n}`, {}, 4))
    for (const each of large) await write(4, [each])
    await write(4, small)
    const proxy = await startRecordingProxy(url)
    const behind = createElasticsearchIndexAudit({ url: proxy.url, prefix, partition: 0, partitions: 1 })
    proxy.take()
    const ids: string[] = []
    await look(behind, async (part) => {
      for await (const { id } of part.fingerprints('things')) ids.push(id)
    })
    expect(ids).to.deep.equal([...large, ...small].map(({ id }) => id).toSorted())
    const sizes = proxy.take().flatMap((each) => /"size":(\d+)/.exec(each)?.[1] ?? [])
    expect(sizes).to.deep.equal(['32', '8', '10', '13', '17'])
    await behind.close()
    await proxy.close()
  })

  it('says no more than what its record said before', async () => {
    await write(7, [lineEntry({}, 7)])
    expect(await look(audit, async ({ position, exact }) => [position, exact])).to.deep.equal([0, false])
    const beat = (position: number) => writer.heartbeat(index, { position, head: 9, at: 1, caughtUpAt: 1 })
    await beat(7)
    let isDue = true
    const proxy = await startRecordingProxy(url, async (line) => {
      if (!isDue || !momentOf('POST').test(line)) return
      isDue = false
      await write(9, [lineEntry({}, 9)])
      await beat(9)
    })
    const behind = createElasticsearchIndexAudit({ url: proxy.url, prefix, partition: 0, partitions: 1 })
    expect(await look(behind, async ({ position }) => position)).to.equal(7)
    expect(isDue).to.equal(false)
    await behind.close()
    await proxy.close()
  })

  describe('several writers of one build', () => {
    it('keep each the progress of its share, and tell readers nothing', async () => {
      const [zero, one] = [writerOf({ share: '0 of 2' }), writerOf({ share: '1 of 2' })]
      for (const each of [zero, one]) await each.open(index, fixture, epoch)
      await zero.write(index, [{ workspaceId: acme, entries: [lineEntry({}, 4)] }], { epoch, position: 4 })
      await zero.heartbeat(index, { position: 4, head: 9, at: 1, caughtUpAt: 0 })
      await one.write(index, [{ workspaceId: other, entries: [lineEntry({}, 5)] }], { epoch, position: 5 })
      for (const each of [zero, one]) await each.close()
      const positions: number[] = []
      for (const share of ['0 of 2', '1 of 2', '0 of 3', undefined]) {
        const again = writerOf(share === undefined ? {} : { share })
        await again.open(index, fixture, epoch)
        positions.push((await again.checkpoint(index)).position)
        await again.close()
      }
      expect(positions).to.deep.equal([4, 5, 0, 0])
      expect((await writer.builds('fixture'))[0]).to.deep.include({ checkpoint: 0 })
    })
  })
})
