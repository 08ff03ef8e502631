import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import type { BuildContext } from '#projections/builds/build-place.ts'
import { createDeadLetters } from '#projections/folding/dead-letters.ts'
import type { Decoders } from '#projections/folding/decoded-event.ts'
import { PoisonError } from '#projections/folding/fold-batch.ts'
import { eraseWorkspace } from '#projections/retention/erase-workspace.ts'
import type { IndexAudit } from '#projections/index-audit.ts'
import type { IndexWriter } from '#projections/index-store.ts'
import { rebuild } from '#projections/builds/rebuild.ts'
import { withSeenEvents } from '#projections/folding/seen-events.ts'
import { createMemoryIndexStore } from '#projections/stores/memory/store.ts'
import { liveBuilds, verify } from '#projections/builds/verify.ts'
import { sealErasure } from '#src/events/erasure.ts'
import type { NewEvent } from '#src/events/envelope.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import { PermanentError, TransientError } from '#src/lib/failure.ts'
import { createMemoryStream } from '#streams/memory/stream.ts'
import type { Stream } from '#streams/stream.ts'
import { readAll } from '#test/support/read-all.ts'
import { memoryContext, sqliteContext } from '#test/support/build-context.ts'
import { counting, lineDecoders, lineEvent, mirror } from '#test/support/line-projections.ts'
import { start } from '#test/support/projector-run.ts'

const acme = workspaceIdOf('acme')
const projections = [counting, mirror]

/** A program that cannot read an event with this line. */
const failing: Decoders = {
  ...lineDecoders,
  logs: (...given) => {
    const logs = lineDecoders.logs(...given)
    if (logs.some(({ message }) => message.startsWith('poison'))) throw new Error(`cannot read ${logs[0]?.message}`)
    return logs
  },
}

const places = {
  memory: () => ({ make: memoryContext, place: createMemoryIndexStore(), remove: () => {} }),
  sqlite: () => {
    const folder = mkdtempSync(join(tmpdir(), 'throughline-erase-'))
    return { make: sqliteContext, place: folder, remove: () => rmSync(folder, { recursive: true }) }
  },
}

for (const [name, create] of Object.entries(places)) {
  describe(`a workspace that is erased, ${name}`, () => {
    let stream: Stream
    let context: BuildContext
    let remove: () => void
    let appended = 0

    beforeEach(async () => {
      appended = 0
      stream = createMemoryStream({ partition: '0' })
      const { make, place, remove: tidy } = create()
      context = make({ stream, projections }, place as never)
      remove = tidy
      await append('acme', 6)
      await append('globex', 6)
      await append('acme', 3)
    })
    afterEach(() => remove())

    const append = async (workspace: string, count: number, line = 'alpha beta'): Promise<void> => {
      const events: NewEvent[] = Array.from({ length: count }, () => lineEvent(++appended, [line], workspace))
      await stream.append(events)
    }
    const erase = (): Promise<boolean> =>
      eraseWorkspace({ stream, projections, clock: () => 5, newId: () => randomBytes(16).toString('hex') }, acme)
    /** A projector follows the log to its head. */
    const fold = async (
      decoders = lineDecoders,
      wrap = (writer: IndexWriter): IndexWriter => writer,
    ): Promise<void> => {
      const writer = context.index.writer()
      const run = start({ stream, writer: wrap(writer), projections, decoders })
      for (let head = -1; head !== (await stream.head());) {
        head = await stream.head()
        for (const { name } of projections) {
          do run.tick()
          while ((await behind(writer, name, head)) && (await run.until(() => true)))
        }
      }
      await run.stop()
      await writer.close()
    }
    const behind = async (writer: IndexWriter, projection: string, head: number): Promise<boolean> => {
      const builds = await writer.builds(projection)
      return builds.length === 0 || builds.some(({ heartbeat }) => heartbeat.position < head)
    }
    /** Workspaces of which the builds hold anything, and whether they are what the log says. */
    const state = async () => {
      const builds = await liveBuilds(context, ['counting', 'mirror'])
      const audit = context.index.audit()
      const held = new Set<string>()
      for (const { index } of builds) for (const { workspaceId } of await audit.parts(index)) held.add(workspaceId)
      const verdicts = await verify(context, builds)
      return { held: [...held].sort(), equal: verdicts.map(({ equal }) => equal) }
    }
    const gone = { held: ['globex'], equal: [true, true] }

    it('is not judged when it goes from the log while the fold comes to where the index stands', async () => {
      await fold()
      const [build] = await liveBuilds(context, ['counting'])
      let steps: (() => Promise<unknown>)[] = []
      const next = async (): Promise<void> => void (await steps.shift()?.())
      const read: Stream['read'] = async (...asked) => {
        await next()
        return stream.read(...asked)
      }
      const audit = (): IndexAudit => {
        const own = context.index.audit()
        const hold: IndexAudit['hold'] = async (...asked) => {
          // The index goes on; then the log is read up to there.
          for (const workspace of ['acme', 'globex', 'acme']) await append(workspace, 2)
          await fold()
          steps = [erase]
          return own.hold(...asked)
        }
        return { ...own, hold }
      }
      const changing = { ...context, stream: { ...stream, read }, index: { ...context.index, audit } }
      const [verdict] = await verify(changing, build === undefined ? [] : [build])
      expect([verdict?.differences, verdict?.equal, steps]).to.deep.equal([[], true, []])
      expect(verdict?.workspaces.map(({ workspaceId }) => workspaceId)).to.deep.equal(['globex'])
      await fold()
      expect(await state()).to.deep.equal(gone)
    })

    it('is judged where the index comes to its erasure while it is compared', async () => {
      await fold()
      const builds = await liveBuilds(context, ['counting'])
      const verdictAfter = async (meanwhile: () => Promise<void>) => {
        const audit = (): IndexAudit => {
          const own = context.index.audit()
          const hold: IndexAudit['hold'] = async (...asked) => {
            await meanwhile()
            return own.hold(...asked)
          }
          return { ...own, hold }
        }
        return (await verify({ ...context, index: { ...context.index, audit } }, builds))[0]
      }
      const verdict = await verdictAfter(async () => {
        await erase()
        // By a store that keeps it.
        await fold(lineDecoders, (writer) => ({ ...writer, eraseWorkspace: async () => {} }))
      })
      expect(verdict?.equal).to.equal(false)
      expect(new Set(verdict?.differences.map(({ workspaceId }) => workspaceId))).to.deep.equal(new Set([acme]))
    })

    it('is in no build any more, and each is still what the log says; a new one too', async () => {
      await fold()
      expect(await state()).to.deep.equal({ held: ['acme', 'globex'], equal: [true, true] })
      expect(await erase()).to.equal(true)
      await fold()
      expect(await state()).to.deep.equal(gone)
      await append('globex', 2)
      await fold()
      const rebuilt = await rebuild(context, projections)
      expect(rebuilt.map(({ outcome }) => outcome)).to.deep.equal(['moved', 'moved'])
      expect(await state()).to.deep.equal(gone)
    })

    it('is not there for a fold that comes to it later', async () => {
      await erase()
      await append('globex', 2)
      await fold()
      expect(await state()).to.deep.equal(gone)
    })

    it('goes where its events stand in one batch with its erasure', async () => {
      await append('acme', 1)
      await stream.append([sealErasure(acme, { at: 5, unique: 'cut short' })])
      await append('globex', 1)
      await fold()
      expect(await state(), 'its events are still in the log, before the erasure').to.deep.equal(gone)
      expect(await erase()).to.equal(true)
      await fold()
      expect(
        (await readAll(stream)).filter(({ workspaceId }) => workspaceId === acme).map(({ type }) => type),
      ).to.deep.equal(['workspace.erased', 'workspace.erased'])
      expect(await state()).to.deep.equal(gone)
    })

    it('is forgotten by the fold that has it loaded: what comes late begins anew', async () => {
      await stream.append([sealErasure(acme, { at: 5, unique: 'between' })])
      await append('acme', 2)
      await fold()
      const writer = context.index.writer()
      await writer.open('counting-v1-001', withSeenEvents(counting), stream.epoch)
      const key = { workspaceId: acme, collection: 'counters', id: 'alpha beta', day: '2026-11-21' }
      const [found] = await writer.load('counting-v1-001', [key])
      await writer.close()
      expect(found?.map(({ document }) => document)).to.deep.equal([{ name: 'alpha beta', lines: 2 }])
    })

    it('is erased again when more of it came, and nothing happens when it did not', async () => {
      await erase()
      await append('acme', 2, 'late')
      await fold()
      expect((await state()).held).to.deep.equal(['acme', 'globex'])
      await erase()
      await fold()
      expect(await state()).to.deep.equal(gone)
      const head = await stream.head()
      expect(await erase()).to.equal(true)
      expect(await stream.head()).to.equal(head)
    })

    it('is not judged until the index has come to its erasure, and is then', async () => {
      await fold()
      await erase()
      expect((await state()).equal, 'the log has nothing of it, the index all').to.deep.equal([true, true])
      await fold(lineDecoders, (writer) => ({ ...writer, eraseWorkspace: async () => {} }))
      const { held, equal } = await state()
      expect([held, equal], 'a store that keeps it is found out').to.deep.equal([
        ['acme', 'globex'],
        [false, false],
      ])
    })

    it('goes from a build that is kept, too', async () => {
      await fold()
      await rebuild(context, [counting], { keep: true })
      await erase()
      await fold()
      const writer = context.index.writer()
      const builds = (await writer.builds('counting')).map(({ index }) => index)
      await writer.close()
      expect(builds).to.have.length(2)
      for (const index of builds) {
        const [verdict] = await verify(context, [{ projection: 'counting', index }])
        expect(verdict?.equal, index).to.equal(true)
      }
      const parts = await Promise.all(builds.map((index) => context.index.audit().parts(index)))
      expect(new Set(parts.flat().map(({ workspaceId }) => workspaceId))).to.deep.equal(new Set(['globex']))
    })

    it('takes the dead letters about it along, and what they quote; those of others stay', async () => {
      await append('acme', 1, 'poison secret')
      await append('globex', 1, 'poison other')
      await fold(failing)
      const letters = createDeadLetters({ stream, clock: () => 5 })
      const before = await letters.letters(counting)
      expect(before).to.have.length(2)
      await erase()
      await fold(failing)
      const after = await letters.letters(counting)
      expect(after).to.deep.equal(before.slice(1))
      expect(String(await Promise.all(after.map((letter) => letters.reason(letter))))).to.match(/poison other/)
      const texts = (await readAll(stream)).map(({ payload }) => Buffer.from(payload).toString())
      expect(texts.filter((text) => text.includes('secret'))).to.deep.equal([])
      expect(texts.filter((text) => text.includes('cannot read poison other'))).to.have.length(2)
      expect((await state()).held).to.deep.equal(['globex'])
      const head = await stream.head()
      await erase()
      expect(await stream.head(), 'nothing is decided twice').to.equal(head)
    })
  })
}

describe('a workspace of which more comes while it is erased', () => {
  /** Erases it where that many appends come in between; whether it is gone, and how often its erasure was written. */
  async function eraseAgainst(late: number): Promise<readonly [boolean, number]> {
    const stream = createMemoryStream({ partition: '0' })
    await stream.append([lineEvent(0, ['alpha'], 'acme')])
    let appended = 0
    const busy: Stream = {
      ...stream,
      erase: async (workspaceId, upTo) => {
        await stream.erase(workspaceId, upTo)
        if (appended < late) await stream.append([lineEvent(++appended, ['late'], 'acme')])
      },
    }
    const newId = (): string => randomBytes(16).toString('hex')
    const isGone = await eraseWorkspace({ stream: busy, projections, clock: () => 5, newId }, acme)
    const erasures = (await readAll(stream)).filter(({ type }) => type === 'workspace.erased')
    return [isGone, erasures.length]
  }

  it('is erased again at once, a few times, and then left for later', async () => {
    expect(await eraseAgainst(0)).to.deep.equal([true, 1])
    expect(await eraseAgainst(4)).to.deep.equal([true, 5])
    expect(await eraseAgainst(5)).to.deep.equal([false, 5])
  })
})

describe('a workspace whose erasure was interrupted', () => {
  it('takes its dead letters along the next time, though nothing else is left of it', async () => {
    const stream = createMemoryStream({ partition: '0' })
    await stream.append(['acme', 'globex'].map((name) => lineEvent(0, ['poison'], name)))
    const letters = createDeadLetters({ stream, clock: () => 5 })
    const reason = new PermanentError({ operation: 'fold', subject: 'poison' })
    for (const event of await readAll(stream)) await letters.put(counting, new PoisonError(event, reason))
    const before = await letters.letters(counting)
    const erase = (log: Stream): Promise<boolean> =>
      eraseWorkspace({ stream: log, projections, clock: () => 5, newId: () => '0'.repeat(32) }, acme)
    const away = new TransientError({ operation: 'read', subject: 'a log that is away' })
    const interrupted = erase({ ...stream, last: () => Promise.reject(away) })
    expect(await interrupted.catch((error: unknown) => error)).to.equal(away)
    expect(await stream.isLeft(acme)).to.equal(false)
    expect(await letters.letters(counting)).to.deep.equal(before)
    expect(await erase(stream)).to.equal(true)
    expect(await letters.letters(counting)).to.deep.equal(before.slice(1))
  })
})
