import { cpSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect } from 'chai'
import type { BuildContext } from '#projections/builds/build-place.ts'
import type { FrozenPart, IndexAudit, Part } from '#projections/index-audit.ts'
import { reachedFor, type IndexWriter, type WorkspaceEntries } from '#projections/index-store.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import { rebuild } from '#projections/builds/rebuild.ts'
import { eraseWorkspace } from '#projections/retention/erase-workspace.ts'
import { createSqliteIndexWriter } from '#projections/stores/sqlite/writing/writer.ts'
import { liveBuilds, verify, type Verdict } from '#projections/builds/verify.ts'
import { createMemoryStream } from '#streams/memory/stream.ts'
import type { Stream } from '#streams/stream.ts'
import { sqliteContext } from '#test/support/build-context.ts'
import { counting, lineEvent } from '#test/support/line-projections.ts'
import { start } from '#test/support/projector-run.ts'
import { appendRandom, foldLive, workspaces } from '#test/support/random-log.ts'
import { limits } from '#test/support/sqlite-fixture.ts'

describe('verify finds', () => {
  let folder: string
  let stream: Stream
  let context: BuildContext
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'throughline-tampered-'))
    stream = createMemoryStream({ partition: '0' })
    context = sqliteContext({ stream }, folder)
    await appendRandom(stream, 1, 80)
    await foldLive(context)
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  const fileOfAcme = (): string => {
    const path = join(folder, 'counting-v1-001', 'acme')
    return join(
      path,
      readdirSync(path)
        .filter((file) => file.endsWith('.db'))
        .toSorted()[0] ?? '',
    )
  }
  const tamper = (sql: string): void => {
    const database = new DatabaseSync(fileOfAcme(), { defensive: false })
    database.exec(sql)
    database.close()
  }
  const one = (sql: string): string => {
    const database = new DatabaseSync(fileOfAcme())
    const found = database.prepare(sql).get()
    database.close()
    return String(Object.values(found ?? {})[0])
  }
  const verdictNow = async (): Promise<Verdict> =>
    (await verify(context, await liveBuilds(context, ['counting'])))[0] as Verdict

  it('nothing in an index that was stopped in a backlog, with one workspace ahead of another', async () => {
    const many = Array.from({ length: 40 }, (_, n) => lineEvent(1_000 + n, ['alpha', 'beta', 'gamma'], 'heavy'))
    await stream.append([...many, lineEvent(2_000, ['delta'], 'light'), lineEvent(2_001, ['alpha'], 'late')])
    await stream.append([lineEvent(9_000, ['days later'], 'heavy')])
    const head = await stream.head()
    const writer = context.index.writer()
    const run = start({ stream, writer, projections: [counting] })
    await run.until((told) => reachedFor(told, workspaceIdOf('light')) >= head && told.position < head)
    await run.stop()
    await writer.close()
    const { equal, workspaces: of } = await verdictNow()
    expect(equal).to.equal(true)
    expect(of.map(({ workspaceId }) => workspaceId)).to.include.members(['heavy', 'light', 'late'])
  })

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
      expect(new Set(verdict.differences.map((each) => each.id)), 'no other').to.deep.equal(new Set([id]))
      expect(Object.keys(difference ?? {}).filter((key) => ['indexed', 'expected'].includes(key))).to.have.members(has)
      const [done] = await rebuild(context, [counting])
      expect(done?.outcome).to.equal('moved')
      expect((await verdictNow()).equal).to.equal(true)
    })
  }

  it('an index that leads past what is there, and names it; rebuild repairs it', async () => {
    tamper(`DROP INDEX r_counters_n_lines; CREATE INDEX r_counters_n_lines ON r_counters (n_lines, id) WHERE id <> 'beta'; PRAGMA writable_schema = 1;
      UPDATE sqlite_schema SET sql = substr(sql, 1, instr(sql, ' WHERE')) WHERE name = 'r_counters_n_lines'`)
    const { equal, differences } = await verdictNow()
    expect(equal).to.equal(false)
    const told = differences.map(({ collection, id, indexed, expected }) => ({ collection, id, indexed, expected }))
    const item = 'damage of r_counters'
    const said = differences[0]?.indexed?.[item]
    expect(told).to.deep.equal([{ collection: 'counters', id: '', indexed: { [item]: said }, expected: undefined }])
    expect(said).to.match(/row \d+ missing from index r_counters_n_lines/)
    expect((await rebuild(context, [counting]))[0]?.outcome).to.equal('moved')
    expect((await verdictNow()).equal).to.equal(true)
  })

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

  it('files of a workspace that was erased, which somebody has put back, and lets go of all that it has looked at', async () => {
    const [there, copy] = [join(folder, 'counting-v1-001', 'acme'), join(folder, 'copy')]
    cpSync(there, copy, { recursive: true })
    const options = { stream, projections: [counting], clock: () => 5, newId: () => 'a'.repeat(32) }
    expect(await eraseWorkspace(options, workspaceIdOf('acme'))).to.equal(true)
    const held = new Set<FrozenPart>()
    const audit = (): IndexAudit => {
      const own = context.index.audit()
      const freeze: IndexAudit['freeze'] = async (...given) => {
        const frozen = await own.freeze(...given)
        held.add(frozen)
        return {
          ...frozen,
          async release() {
            held.delete(frozen)
            await frozen.release()
          },
        }
      }
      return { ...own, freeze }
    }
    const verdictHeld = async (): Promise<Verdict | undefined> => {
      const seen = { ...context, index: { ...context.index, audit } }
      return (await verify(seen, await liveBuilds(seen, ['counting'])))[0]
    }
    expect(await verdictHeld(), 'the index has not come to the erasure').to.include({ equal: true })
    await foldLive(context)
    expect(existsSync(there)).to.equal(false)
    cpSync(copy, there, { recursive: true })
    const verdict = await verdictHeld()
    expect(verdict?.equal).to.equal(false)
    expect(new Set(verdict?.differences.map(({ workspaceId }) => workspaceId))).to.deep.equal(new Set(['acme']))
    expect(held.size).to.equal(0)
  })

  /** The projector writes what `isFirst` takes of a batch before verify comes to a part, and the rest when verify waits for it. */
  const verdictBetween = async (isFirst: (part: Part, written: Part) => boolean) => {
    const gate = Promise.withResolvers<void>()
    let stopProjector = async (): Promise<void> => {}
    let { clock } = context
    const writeFirst = async (part: Part): Promise<void> => {
      await stream.append(workspaces.map((workspace, n) => lineEvent(95 + n, ['late', 'alpha'], workspace)))
      const writer = createSqliteIndexWriter({ folder, limits })
      const written = Promise.withResolvers<void>()
      const slow: IndexWriter = {
        ...writer,
        async write(index, entries, checkpoint) {
          const taken = (first: boolean): readonly WorkspaceEntries[] =>
            entries.map(({ workspaceId, entries: all }) => ({
              workspaceId,
              entries: all.filter(({ day }) => isFirst(part, { workspaceId, day }) === first),
            }))
          await writer.write(index, taken(true), checkpoint)
          written.resolve()
          await gate.promise
          await writer.write(index, taken(false), checkpoint)
        },
      }
      const run = start({ stream, writer: slow, projections: [counting] })
      ;({ clock } = run)
      await written.promise
      stopProjector = async () => {
        gate.resolve()
        await run.stop()
        await writer.close()
      }
    }
    let freezes = 0
    let first: Part | undefined
    const parts = (await context.index.audit().parts('counting-v1-001')).length
    const hooked: BuildContext = {
      ...context,
      clock: () => clock(),
      timers: { ...context.timers, pause: async (ms, signal) => (gate.resolve(), context.timers.pause(ms, signal)) },
      index: {
        ...context.index,
        audit: () => {
          const audit = context.index.audit()
          return {
            ...audit,
            async freeze(index, part) {
              // Each part is looked at once for its place, then they are compared one by one.
              if (++freezes === parts + 1) await writeFirst((first = part))
              return audit.freeze(index, part)
            },
          }
        },
      },
    }
    const [verdict] = await verify(hooked, await liveBuilds(hooked, ['counting']))
    await stopProjector()
    return { verdict, first }
  }

  for (const [what, isFirst] of [
    ['files of two workspaces', (part, written) => part.workspaceId === written.workspaceId],
    [
      'two days of a workspace',
      (part, written) => part.workspaceId === written.workspaceId && part.day === written.day,
    ],
  ] satisfies readonly (readonly [string, (part: Part, written: Part) => boolean])[]) {
    it(`nothing wrong in an index whose projector is between ${what} in a batch, and compares all of it`, async () => {
      const { verdict, first } = await verdictBetween(isFirst)
      expect(verdict?.differences).to.deep.equal([])
      expect(verdict?.equal).to.equal(true)
      const entriesOf = (found: Verdict | undefined) =>
        found?.workspaces.find(({ workspaceId }) => workspaceId === first?.workspaceId)?.entries
      expect(entriesOf(verdict)).to.be.a('number')
      expect(entriesOf(verdict)).to.equal(entriesOf(await verdictNow()))
    })
  }

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

  it('nothing wrong up to where the files are, of an index that has not said yet that they are on the disk', async () => {
    const record = new DatabaseSync(join(folder, 'counting-v1-001', 'meta.db'))
    record.exec('UPDATE build SET safe = 0')
    record.close()
    const verdict = await verdictNow()
    expect(verdict).to.include({ equal: true, position: await stream.head() })
  })
})
