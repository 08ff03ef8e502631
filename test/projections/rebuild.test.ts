import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect } from 'chai'
import type { BuildContext } from '#projections/build-place.ts'
import type { IndexReader, IndexWriter } from '#projections/index-store.ts'
import { dropBuild, rollBack } from '#projections/move-readers.ts'
import { planRebuild, rebuild, type RebuildProgress } from '#projections/rebuild.ts'
import { createMemoryIndexStore } from '#projections/stores/memory/store.ts'
import { createSqliteIndexReader } from '#projections/stores/sqlite/reader.ts'
import { createSqliteIndexWriter } from '#projections/stores/sqlite/writer.ts'
import { liveBuilds, verify, type Verdict } from '#projections/verify.ts'
import { createMemoryStream } from '#streams/memory/stream.ts'
import type { Stream } from '#streams/stream.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import { memoryContext, sqliteContext } from '#test/support/build-context.ts'
import { createRandom } from '#test/support/index-fixture.ts'
import { counting, lineEvent, mirror } from '#test/support/line-projections.ts'
import { atHead, start, totals } from '#test/support/projector-run.ts'

const workspaces = ['acme', 'other', 'third']
const words = ['alpha', 'beta', 'gamma delta', 'epsilon', '支付失败', 'path/to/file.ts:12']

async function appendRandom(stream: Stream, from: number, to: number): Promise<void> {
  const random = createRandom(from + 1)
  for (let n = from; n < to; n++) {
    const lines = Array.from({ length: 1 + random.below(4) }, () => random.pick(words))
    await stream.append([lineEvent(n, lines, random.pick(workspaces))])
  }
}

type Place = Readonly<{
  context: (stream: Stream, workers?: number) => BuildContext
  writer: () => IndexWriter
  reader: () => IndexReader
  remove: () => void
}>

const places: Readonly<Record<string, () => Place>> = {
  memory: () => {
    const store = createMemoryIndexStore()
    return {
      context: (stream, workers = 2) => memoryContext({ stream, workers }, store),
      writer: () => store.writer,
      reader: () => store.reader,
      remove: () => {},
    }
  },
  sqlite: () => {
    const folder = mkdtempSync(join(tmpdir(), 'throughline-rebuild-'))
    const limits = { indexFilesOpenMax: 8, patternExpansionsMax: 1_000 }
    return {
      context: (stream, workers = 2) => sqliteContext({ stream, workers }, folder),
      writer: () => createSqliteIndexWriter({ folder, limits }),
      reader: () => createSqliteIndexReader({ folder, limits }),
      remove: () => rmSync(folder, { recursive: true }),
    }
  },
}

/** Folds what the log holds into the live builds, as the server does, and stops. */
async function foldLive(stream: Stream, writer: IndexWriter): Promise<void> {
  const run = start({ stream, writer, projections: [counting, mirror] })
  const wanted = await atHead(stream)
  await run.until((heartbeat, index) => index.startsWith('mirror') && wanted(heartbeat))
  await run.stop()
  await writer.close()
}

const all = ['counting', 'mirror']
const summary = ({ projection, equal, workspaces: of }: Verdict) => [
  projection,
  equal,
  of.map(({ workspaceId }) => workspaceId as string).toSorted(),
]

for (const [name, create] of Object.entries(places)) {
  describe(`rebuild and verify, ${name}`, () => {
    let stream: Stream
    let place: Place
    let context: BuildContext
    beforeEach(async () => {
      stream = createMemoryStream({ partition: '0' })
      place = create()
      context = place.context(stream)
      await appendRandom(stream, 1, 90)
      await foldLive(stream, place.writer())
    })
    afterEach(() => place.remove())

    const withWriter = async <T>(task: (writer: IndexWriter) => Promise<T>): Promise<T> => {
      const writer = place.writer()
      try {
        return await task(writer)
      } finally {
        await writer.close()
      }
    }
    const live = (projection = 'counting') => withWriter((writer) => writer.live(projection))
    const names = () => withWriter(async (writer) => (await writer.builds('counting')).map(({ index }) => index))

    it('says that an index is what the log says, workspace by workspace', async () => {
      const verdicts = await verify(context, await liveBuilds(context, all))
      expect(verdicts.map(summary)).to.deep.equal([
        ['counting', true, workspaces],
        ['mirror', true, workspaces],
      ])
      const [verdict] = verdicts
      expect(verdict?.position).to.equal(await stream.head())
      expect(verdict?.workspaces.every(({ entries, different }) => entries > 10 && different === 0)).to.equal(true)
    })

    it('compares one workspace when asked to', async () => {
      const builds = await liveBuilds(context, ['counting'])
      const [verdict] = await verify(context, builds, { workspaces: [workspaceIdOf('other')] })
      expect(verdict && summary(verdict)).to.deep.equal(['counting', true, ['other']])
    })

    it('compares an index that is behind the log at its own place', async () => {
      const { position } = (await verify(context, await liveBuilds(context, ['counting'])))[0] as Verdict
      await appendRandom(stream, 200, 240)
      const [verdict] = await verify(context, await liveBuilds(context, ['counting']))
      expect(verdict).to.include({ position, equal: true })
    })

    it('rebuilds every projection and moves readers to the new builds', async () => {
      const phases: RebuildProgress['phase'][] = []
      const onProgress = ({ phase }: RebuildProgress): void => void phases.push(phase)
      const done = await rebuild(context, context.projections, { onProgress })
      expect(done.map(({ projection, index, former, outcome }) => [projection, index, former, outcome])).to.deep.equal([
        ['counting', 'counting-v1-002', 'counting-v1-001', 'moved'],
        ['mirror', 'mirror-v1-002', 'mirror-v1-001', 'moved'],
      ])
      expect([...new Set(phases)]).to.deep.equal(['fold', 'verify', 'move'])
      expect(done.every(({ verdict }) => verdict.equal)).to.equal(true)
      expect(await live()).to.equal('counting-v1-002')
      expect((await verify(context, await liveBuilds(context, all))).map(({ equal }) => equal)).to.deep.equal([
        true,
        true,
      ])
      const { followed } = await withWriter((writer) => writer.roster('counting'))
      expect(followed).to.have.length(1)
      expect(followed[0]).to.include({ index: 'counting-v1-001', as: 'kept' })
      expect(followed[0]?.untilMs).to.be.closeTo(Date.now() + 86_400_000, 60_000)
    })

    it('keeps the former build without a limit when asked to', async () => {
      await rebuild(context, [counting], { keep: true })
      const { followed } = await withWriter((writer) => writer.roster('counting'))
      expect(followed).to.deep.equal([{ index: 'counting-v1-001', as: 'kept' }])
    })

    for (const workers of [1, 3]) {
      it(`gives the same index with ${workers} workers`, async () => {
        await rebuild(place.context(stream, workers), [counting])
        const [verdict] = await verify(context, await liveBuilds(context, ['counting']))
        expect(verdict?.equal).to.equal(true)
      })
    }

    it('goes on where it was cut short, wherever that was', async () => {
      for (const batches of [1, 4, 9]) {
        const cut = new AbortController()
        let left = batches
        const onProgress = ({ phase }: RebuildProgress): void => {
          if (phase === 'fold' && left-- === 0) cut.abort()
        }
        const before = await live()
        const failure = await rebuild(context, [counting], { signal: cut.signal, onProgress }).catch(
          (error: unknown) => error,
        )
        expect(failure).to.have.property('name', 'AbortError')
        expect(await live()).to.equal(before)
        const [plan] = await planRebuild(context, [counting])
        expect(plan?.resumes).to.equal(true)
        const [done] = await rebuild(context, [counting])
        expect(done).to.include({ resumed: true, outcome: 'moved', index: plan?.index })
        expect(done?.verdict.equal).to.equal(true)
      }
    })

    it('is refused while another rebuild of the projection is under way', async () => {
      const lock = await context.lock('mirror')
      const failure = await rebuild(context, context.projections).catch((error: unknown) => error)
      expect(String(failure)).to.match(/rebuild mirror \(another rebuild of it is under way/)
      await lock?.release()
      // What it had taken before it was refused is free again.
      expect((await rebuild(context, [counting]))[0]?.outcome).to.equal('moved')
    })

    it('says what it would do, and does nothing, for a plan', async () => {
      const [plan] = await planRebuild(context, [counting], { from: 40 * 4096 })
      expect(plan).to.deep.equal({
        projection: 'counting',
        index: 'counting-v1-002',
        live: 'counting-v1-001',
        resumes: false,
        from: 40 * 4096,
        head: await stream.head(),
      })
      expect(await names()).to.deep.equal(['counting-v1-001'])
    })

    it('leaves out what came before a position when told to, and verifies that', async () => {
      const [done] = await rebuild(context, [counting], { from: 60 * 4096 })
      expect(done?.verdict.equal).to.equal(true)
      const reader = place.reader()
      const lines = Object.values(await totals(reader)).reduce((sum, count) => sum + count, 0)
      await reader.close()
      const events = (await stream.read(60 * 4096, 1_000)).filter(({ workspaceId }) => workspaceId === 'acme')
      expect(lines).to.equal(events.reduce((sum, { counts }) => sum + counts.logs, 0))
      const [verdict] = await verify(context, await liveBuilds(context, ['counting']))
      expect(verdict?.equal).to.equal(true)
    })

    it('goes back to the build before, and forward again', async () => {
      await rebuild(context, [counting])
      expect(await rollBack(context, counting)).to.deep.equal({ index: 'counting-v1-001', former: 'counting-v1-002' })
      expect(await live()).to.equal('counting-v1-001')
      expect(await rollBack(context, counting)).to.deep.equal({ index: 'counting-v1-002', former: 'counting-v1-001' })
      const failure = await rollBack(context, mirror).catch((error: unknown) => error)
      expect(String(failure)).to.match(/roll back mirror \(no earlier build of it is kept\)/)
    })

    it('does not go back to a build that this program cannot fold', async () => {
      await rebuild(context, [counting])
      const failure = await rollBack(context, { ...counting, version: 2 }).catch((error: unknown) => error)
      expect(String(failure)).to.match(/counting-v1-001 is of version 1/)
      expect(await live()).to.equal('counting-v1-002')
    })

    it('drops a build that readers do not use', async () => {
      await rebuild(context, [counting])
      await dropBuild(context, counting, 'counting-v1-001')
      expect(await names()).to.deep.equal(['counting-v1-002'])
      expect((await withWriter((writer) => writer.roster('counting'))).followed).to.deep.equal([])
      const refused = async (index: string) =>
        String(await dropBuild(context, counting, index).catch((e: unknown) => e))
      expect(await refused('counting-v1-002')).to.match(/readers use it/)
      expect(await refused('counting-v1-009')).to.match(/there is no such build/)
    })

    it('rebuilds one workspace and takes the others over as they are', async () => {
      await appendRandom(stream, 300, 330)
      const phases: string[] = []
      const [done] = await rebuild(context, [counting], {
        workspaceId: workspaceIdOf('other'),
        onProgress: ({ phase }) => phases.push(phase),
      })
      expect(done).to.include({ outcome: 'moved', index: 'counting-v1-002' })
      expect(phases[0]).to.equal('copy')
      const [verdict] = await verify(context, await liveBuilds(context, ['counting']))
      expect(verdict && summary(verdict)).to.deep.equal(['counting', true, workspaces])
      expect(verdict?.position).to.equal(await stream.head())
    })

    it('leaves an index that follows the log in peace while it is compared', async () => {
      const run = start({ stream, writer: place.writer(), projections: [counting, mirror] })
      const clock = run.clock
      let n = 500
      const busy = { ...context, clock }
      const tick = setInterval(() => {
        void appendRandom(stream, n, n + 3)
        n += 3
        run.tick()
      }, 3)
      try {
        for (let round = 0; round < 2; round++) {
          const [verdict] = await verify(busy, await liveBuilds(busy, ['counting']))
          expect(verdict?.differences).to.deep.equal([])
          expect(verdict?.equal).to.equal(true)
        }
        const done = await rebuild(busy, [counting])
        expect(done[0]).to.include({ outcome: 'moved' })
        expect(done[0]?.verdict.equal).to.equal(true)
      } finally {
        clearInterval(tick)
        await run.stop()
      }
      const [verdict] = await verify(context, await liveBuilds(context, ['counting']))
      expect(verdict?.equal).to.equal(true)
    })
  })
}

describe('verify finds', () => {
  let folder: string
  let stream: Stream
  let context: BuildContext
  const limits = { indexFilesOpenMax: 8, patternExpansionsMax: 1_000 }
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'throughline-tampered-'))
    stream = createMemoryStream({ partition: '0' })
    context = sqliteContext({ stream }, folder)
    await appendRandom(stream, 1, 80)
    await foldLive(stream, createSqliteIndexWriter({ folder, limits }))
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  const fileOf = (workspace = 'acme'): string => {
    const path = join(folder, 'counting-v1-001', workspace)
    return join(
      path,
      readdirSync(path)
        .filter((file) => file.endsWith('.db'))
        .toSorted()[0] ?? '',
    )
  }
  const tamper = (sql: string): void => {
    const database = new DatabaseSync(fileOf())
    database.exec(sql)
    database.close()
  }
  const one = (sql: string): string => {
    const database = new DatabaseSync(fileOf())
    const found = database.prepare(sql).get()
    database.close()
    return String(Object.values(found ?? {})[0])
  }
  const verdictNow = async (): Promise<Verdict> =>
    (await verify(context, await liveBuilds(context, ['counting'])))[0] as Verdict

  const cases: Readonly<
    Record<string, Readonly<{ sql: string; named: string; kind: string; has: readonly string[] }>>
  > = {
    'one changed byte of a document': {
      sql: `UPDATE b_said SET body = replace(body, 'a', 'e') WHERE row = (SELECT row FROM r_said JOIN b_said USING (row) WHERE body LIKE '%alpha%' LIMIT 1)`,
      named: `SELECT id FROM r_said JOIN b_said USING (row) WHERE body LIKE '%elphe%'`,
      kind: 'entry',
      has: ['indexed', 'expected'],
    },
    'one deleted document': {
      sql: `DELETE FROM b_said WHERE row = (SELECT min(row) FROM r_said); DELETE FROM f_said WHERE rowid = (SELECT min(row) FROM r_said); DELETE FROM r_said WHERE row = (SELECT min(row) FROM r_said)`,
      named: `SELECT min(id) FROM r_said`,
      kind: 'entry',
      has: ['expected'],
    },
    'one added document': {
      sql: `INSERT INTO r_counters SELECT row + 1000, 'made up', time, position, created, terms, n_lines, k_name FROM r_counters LIMIT 1; INSERT INTO b_counters SELECT row + 1000, body FROM b_counters WHERE row + 1000 IN (SELECT row FROM r_counters WHERE id = 'made up')`,
      named: `SELECT 'made up'`,
      kind: 'entry',
      has: ['indexed'],
    },
    'one number': {
      sql: `UPDATE r_counters SET n_lines = n_lines + 1 WHERE id = 'beta'`,
      named: `SELECT 'beta'`,
      kind: 'entry',
      has: ['indexed', 'expected'],
    },
    'the postings of one document': {
      sql: `DELETE FROM f_counters WHERE rowid = (SELECT row FROM r_counters WHERE id = 'beta')`,
      named: `SELECT 'beta'`,
      kind: 'search',
      has: ['expected'],
    },
  }
  for (const [what, { sql, named, kind, has }] of Object.entries(cases)) {
    it(`${what}, and names it with both sides; rebuild repairs it`, async () => {
      const before = one(named)
      tamper(sql)
      const id = what === 'one deleted document' ? before : one(named)
      const verdict = await verdictNow()
      expect(verdict.equal).to.equal(false)
      expect(verdict.workspaces.filter(({ different }) => different > 0).map((of) => of.workspaceId)).to.deep.equal([
        'acme',
      ])
      const [difference] = verdict.differences
      expect(difference).to.include({ workspaceId: 'acme', id, kind })
      expect(Object.keys(difference ?? {}).filter((key) => ['indexed', 'expected'].includes(key))).to.have.members(has)
      const [done] = await rebuild(context, [counting])
      expect(done?.outcome).to.equal('moved')
      expect((await verdictNow()).equal).to.equal(true)
    })
  }

  it('a file that is gone, and one that nobody wrote', async () => {
    rmSync(join(folder, 'counting-v1-001', 'other'), { recursive: true })
    const verdict = await verdictNow()
    expect(verdict.equal).to.equal(false)
    const lost = verdict.workspaces.find(({ workspaceId }) => workspaceId === 'other')
    expect(lost).to.include({ entries: 0 })
    expect(lost?.different).to.be.above(10)
    expect(verdict.differences).to.have.length(20)
    expect(verdict.differences.every(({ workspaceId }) => workspaceId === 'other')).to.equal(true)
  })

  it('nothing wrong in an index whose projector was killed in the middle of a batch', async () => {
    await appendRandom(stream, 100, 140)
    const writer = createSqliteIndexWriter({ folder, limits })
    let left = 4
    const killed: IndexWriter = {
      ...writer,
      write: async (index, entries, checkpoint) => {
        if (left-- > 0) return await writer.write(index, entries, checkpoint)
        // One workspace's part of the batch is written, the others' are not.
        await writer.write(index, entries.slice(0, 1), checkpoint)
        throw new Error('killed')
      },
    }
    await start({ stream, writer: killed, projections: [counting] }).ended.catch(() => {})
    const verdict = await verdictNow()
    expect(verdict.differences).to.deep.equal([])
    expect(verdict.equal).to.equal(true)
    await writer.close()
  })
})
