import { expect } from 'chai'
import type { BuildContext } from '#projections/builds/build-place.ts'
import type { Decoders } from '#projections/folding/decoded-event.ts'
import { lagMs, type IndexWriter, type Progress } from '#projections/index-store.ts'
import { dropBuild } from '#projections/builds/drop-build.ts'
import { rollBack } from '#projections/builds/roll-back.ts'
import { planRebuild, rebuild, type RebuildOptions, type RebuildProgress } from '#projections/builds/rebuild.ts'
import { begin, changeRoster, holding } from '#projections/rosters/roster.ts'
import { liveBuilds, verify, type Verdict } from '#projections/builds/verify.ts'
import { createMemoryStream } from '#streams/memory/stream.ts'
import type { Stream } from '#streams/stream.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import { TransientError } from '#src/lib/failure.ts'
import { buildPlaces, foldedPlace, withWriterOf, type Place } from '#test/support/build-places.ts'
import { counting, lineDecoders, mirror } from '#test/support/line-projections.ts'
import { atHead, start, totals } from '#test/support/projector-run.ts'
import { appendRandom, workspaces } from '#test/support/random-log.ts'
import { liveOf } from '#test/support/promote.ts'

const all = ['counting', 'mirror']
const summary = ({ projection, equal, workspaces: of }: Verdict) => [
  projection,
  equal,
  of.map(({ workspaceId }) => workspaceId as string).toSorted(),
]

for (const [name, create] of Object.entries(buildPlaces)) {
  describe(`rebuild and verify, ${name}`, () => {
    let stream: Stream
    let place: Place
    let context: BuildContext
    beforeEach(async () => {
      ;({ stream, place, context } = await foldedPlace(create, 90))
    })
    afterEach(() => place.remove())

    const withWriter = <T>(task: (writer: IndexWriter) => Promise<T>): Promise<T> => withWriterOf(place, task)
    const live = () => withWriter((writer) => liveOf(writer, 'counting'))
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

    it('does not fold again what it had folded when it was cut short', async () => {
      const counted = async (cut?: Readonly<{ signal: AbortSignal; onProgress: RebuildOptions['onProgress'] }>) => {
        let opened = 0
        const open: Decoders['open'] = (event) => (opened++, lineDecoders.open(event))
        const { signal, onProgress } = cut ?? {}
        const more = { ...(signal && { signal }), ...(onProgress && { onProgress }) }
        await rebuild(place.context(stream, 1, { ...lineDecoders, open }), [counting], more).catch(() => {})
        return opened
      }
      const whole = await counted()
      const cut = new AbortController()
      let left = 3
      const onProgress = ({ phase }: RebuildProgress): void => {
        if (phase === 'fold' && left-- === 0) cut.abort()
      }
      await counted({ signal: cut.signal, onProgress })
      expect(await counted()).to.be.below(whole)
    })

    it('does not go on with a build of another version, and removes it', async () => {
      const older = 'counting-v0-001'
      const writer = place.writer()
      await writer.open(older, counting, stream.epoch)
      await changeRoster(writer, 'counting', begin(older))
      const [plan] = await planRebuild(context, [counting])
      expect(plan).to.include({ index: 'counting-v1-002', resumes: false })
      const [done] = await rebuild(context, [counting])
      expect(done).to.include({ index: 'counting-v1-002', resumed: false, outcome: 'moved' })
      expect((await writer.builds('counting')).map(({ index }) => index)).not.to.include(older)
      await writer.close()
    })

    it('is left for as long again from when it goes on', async () => {
      const ended = new AbortController()
      const onProgress = ({ phase }: RebuildProgress): void => void (phase === 'fold' && ended.abort())
      await rebuild(context, [counting], { onProgress, signal: ended.signal }).catch(() => undefined)
      const writer = place.writer()
      const [begun] = (await writer.roster('counting')).followed
      await changeRoster(writer, 'counting', holding(begun?.index ?? '', 1))
      const marks: (number | undefined)[] = []
      const look = async (): Promise<unknown> =>
        marks.push((await writer.roster('counting')).followed.find(({ as }) => as === 'building')?.heldSinceMs)
      await look()
      const looking = { ...context, index: { ...context.index, fold: async () => void (await look()) } }
      await rebuild(looking, [counting]).catch(() => undefined)
      expect(marks).to.deep.equal([1, undefined])
      await writer.close()
    })

    it('begins its build again when something passes that is in its way', async () => {
      const pauses: number[] = []
      let failures = 2
      const timers = { ...context.timers, pause: async (ms: number) => void pauses.push(ms) }
      const writer = (): IndexWriter => {
        const made = place.writer()
        const open: IndexWriter['open'] = async (index, ...given) => {
          const isNew = !(await made.builds('counting')).some((build) => build.index === index)
          if (isNew && failures-- > 0) throw new TransientError({ operation: 'open', subject: index })
          return made.open(index, ...given)
        }
        return { ...made, open }
      }
      const hindered: BuildContext = { ...context, timers, index: { ...context.index, writer } }
      const [done] = await rebuild(hindered, [counting])
      expect([done?.outcome, await live()]).to.deep.equal(['moved', 'counting-v1-002'])
      expect(pauses.slice(0, 2)).to.deep.equal([1_000, 1_000])
      failures = Number.POSITIVE_INFINITY
      const failure = await rebuild(hindered, [counting]).catch((error: unknown) => error)
      expect(failure).to.be.instanceOf(TransientError)
    })

    it('holds nothing where one lock cannot be taken for an engine that is away', async () => {
      const away = new TransientError({ operation: 'lock', subject: 'mirror' })
      const lock: BuildContext['lock'] = async (projection) => {
        if (projection === 'mirror') throw away
        return context.lock(projection)
      }
      const failure = await rebuild({ ...context, lock }, context.projections).catch((error: unknown) => error)
      expect(failure).to.equal(away)
      const held = await context.lock('counting')
      expect(held).not.to.equal(undefined)
      await held?.release()
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

    it('tells of a build that no projector has folded yet up to when it has what was received', async () => {
      await rebuild(context, [counting])
      const head = await stream.head()
      const [last] = await stream.read(head - 1, 1)
      const reader = place.reader()
      const progress = await reader.progress('counting')
      await reader.close()
      expect(progress).to.include({ position: head, at: 0, caughtUpAt: last?.receivedAt })
      expect(lagMs(progress as Progress, (last?.receivedAt ?? 0) + 5)).to.equal(5)
    })

    it('begins nothing behind the end of the log, of which the new index would say that it has seen it', async () => {
      const head = await stream.head()
      for (const start of [planRebuild, rebuild]) {
        const failure = await start(context, [counting], { from: head + 1 }).catch((error: unknown) => error)
        expect(String(failure)).to.match(
          /rebuild from position \d+ \(the log of partition .* ends at position \d+: begin no/,
        )
      }
      expect([await live(), await names()]).to.deep.equal(['counting-v1-001', ['counting-v1-001']])
      expect((await rebuild(context, [counting], { from: head }))[0]?.outcome).to.equal('moved')
    })

    it('goes back to the build before, and forward again', async () => {
      await rebuild(context, [counting])
      expect(await rollBack(context, counting)).to.deep.equal({ index: 'counting-v1-001', former: 'counting-v1-002' })
      expect(await live()).to.equal('counting-v1-001')
      expect(await rollBack(context, counting)).to.deep.equal({ index: 'counting-v1-002', former: 'counting-v1-001' })
      const failure = await rollBack(context, mirror).catch((error: unknown) => error)
      expect(String(failure)).to.match(/roll back mirror \(no earlier build of it is kept\)/)
    })

    it('folds what the build before has missed, before it goes back to it', async () => {
      await rebuild(context, [counting])
      await appendRandom(stream, 300, 320)
      await withWriter(async (writer) => {
        const roster = async (projection: string) => ({ ...(await writer.roster(projection)), followed: [] })
        const run = start({ stream, writer: { ...writer, roster } })
        await run.until(await atHead(stream))
        await run.stop()
      })
      const found = async () => {
        const reader = place.reader()
        const lines = await totals(reader)
        await reader.close()
        return lines
      }
      const before = await found()
      await rollBack(context, counting)
      expect(await live()).to.equal('counting-v1-001')
      expect(await found()).to.deep.equal(before)
    })

    it('does not go back to a build that this program cannot fold', async () => {
      await rebuild(context, [counting])
      const failure = await rollBack(context, { ...counting, version: 2 }).catch((error: unknown) => error)
      expect(String(failure)).to.match(/counting-v1-001 is of version 1/)
      expect(await live()).to.equal('counting-v1-002')
    })

    it('does not go back to a build of another log', async () => {
      await rebuild(context, [counting])
      const restored = place.context(createMemoryStream({ partition: '0', epoch: 'restored' }))
      const failure = await rollBack(restored, counting).catch((error: unknown) => error)
      expect(String(failure)).to.match(/counting-v1-001 is of another log/)
      const { live: index, followed } = await withWriter((writer) => writer.roster('counting'))
      expect([index, followed.map(({ as }) => as)]).to.deep.equal(['counting-v1-002', ['kept']])
    })

    it('drops a build that readers do not use', async () => {
      await rebuild(context, [counting])
      await dropBuild(context, counting, 'counting-v1-001')
      expect(await names()).to.deep.equal(['counting-v1-002'])
      const { followed: left } = await withWriter((writer) => writer.roster('counting'))
      expect(left).to.deep.equal([{ index: 'counting-v1-001', as: 'gone' }])
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

    it('takes no workspaces over from a build that was begun later than the new one', async () => {
      await rebuild(context, [counting], { from: 60 * 4096 })
      const one = { workspaceId: workspaceIdOf('other') }
      const refused = await rebuild(context, [counting], one).catch((error: unknown) => error)
      expect(String(refused)).to.contain(
        'has nothing up to position 245760: rebuild all of counting, or say --from 245760',
      )
      expect(await names()).to.deep.equal(['counting-v1-001', 'counting-v1-002'])
      const [done] = await rebuild(context, [counting], { ...one, from: 60 * 4096 })
      expect(done?.outcome).to.equal('moved')
      const stored = await withWriter((writer) => writer.builds('counting'))
      expect(stored.find(({ index }) => index === done?.index)?.after).to.equal(60 * 4096)
    })

    it('takes no workspaces over from a build that has lost days of them', async () => {
      const losing = (of: string): BuildContext => {
        const lost = async () => [{ workspaceId: workspaceIdOf(of), day: '2026-11-20' }]
        return { ...context, index: { ...context.index, audit: () => ({ ...context.index.audit(), lost }) } }
      }
      const one = { workspaceId: workspaceIdOf('other') }
      for (const run of [planRebuild, rebuild]) {
        const refused = await run(losing('acme'), [counting], one).catch((error: unknown) => error)
        expect(String(refused)).to.contain('counting-v1-001, which lacks days of them: rebuild all of counting')
      }
      expect(await names()).to.deep.equal(['counting-v1-001'])
      expect((await rebuild(losing('other'), [counting], one))[0]?.outcome).to.equal('moved')
    })

    it('takes no workspaces over from a build of another version or another log, and leaves nothing behind', async () => {
      const options = { workspaceId: workspaceIdOf('other') }
      const raised = { ...mirror, version: 2 }
      const refused = async (build: BuildContext): Promise<string> => {
        const before = await withWriter((writer) => writer.roster('counting'))
        const failures = [rebuild, planRebuild].map(async (run) => run(build, [counting, raised], options))
        const [done, planned] = await Promise.allSettled(failures)
        expect(await withWriter((writer) => writer.roster('counting'))).to.deep.equal(before)
        expect(await withWriter((writer) => writer.roster('mirror'))).to.deep.include({
          live: 'mirror-v1-001',
          followed: [],
        })
        const stored = await withWriter(async (writer) => [
          ...(await writer.builds('counting')),
          ...(await writer.builds('mirror')),
        ])
        expect(stored.map(({ index }) => index)).to.deep.equal(['counting-v1-001', 'mirror-v1-001'])
        const reasonOf = (result: PromiseSettledResult<unknown> | undefined): string =>
          result?.status === 'rejected' ? String(result.reason) : 'it was not refused'
        expect(reasonOf(planned)).to.equal(reasonOf(done))
        return reasonOf(done)
      }
      expect(await refused(context)).to.equal(
        'PermanentError: rebuild workspace other (the other workspaces would be copied from mirror-v1-001, and this program folds version 2: rebuild all of mirror, or start the server, which does)',
      )
      expect(await refused(place.context(createMemoryStream({ partition: '0' })))).to.match(
        /\(readers have no build of counting to copy the other workspaces from: rebuild all of it\)/,
      )
      const older = await rebuild(context, [{ ...counting, version: 0 }], options).catch((error: unknown) => error)
      expect(String(older)).to.match(/copied from counting-v1-001, and this program folds version 0: start the newer/)
      expect((await rebuild(context, [counting], options))[0]?.outcome).to.equal('moved')
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
