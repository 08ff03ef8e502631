import { expect } from 'chai'
import type { BuildContext } from '#projections/builds/build-place.ts'
import { heartbeatMaxMs, type IndexWriter } from '#projections/index-store.ts'
import { rollBack, wayBack } from '#projections/builds/roll-back.ts'
import { changeRoster, keepOn, nominate } from '#projections/rosters/roster.ts'
import { planRebuild, rebuild } from '#projections/builds/rebuild.ts'
import { withSeenEvents } from '#projections/folding/seen-events.ts'
import type { Stream } from '#streams/stream.ts'
import { buildPlaces, foldedPlace, withWriterOf, type Place } from '#test/support/build-places.ts'
import { counting, lineDecoders, mirror } from '#test/support/line-projections.ts'

const newer = { ...counting, version: 2 }
const newerLive = 'counting-v2-001'

for (const [name, create] of Object.entries(buildPlaces)) {
  describe(`rollback to an older program, ${name}`, () => {
    let stream: Stream
    let place: Place
    let now: number
    /** Called for each pause. */
    let onPause: () => Promise<void>

    const withWriter = <T>(task: (writer: IndexWriter) => Promise<T>): Promise<T> => withWriterOf(place, task)
    const roster = () => withWriter((writer) => writer.roster('counting'))
    const timed = (context: BuildContext): BuildContext => ({
      ...context,
      clock: () => now,
      timers: { ...context.timers, pause: () => onPause() },
    })
    /** The newer program says that it folds its build. */
    const beat = () =>
      withWriter(async (writer) => {
        await writer.open(newerLive, withSeenEvents(newer), stream.epoch)
        const head = await stream.head()
        await writer.heartbeat(newerLive, { position: head, head, at: now, caughtUpAt: now })
      })
    let older: BuildContext

    beforeEach(async () => {
      let context: BuildContext
      ;({ stream, place, context } = await foldedPlace(create, 30))
      older = timed(context)
      now = Date.now() + 2 * heartbeatMaxMs
      onPause = () => expect.fail('it waits')
      const [done] = await rebuild(timed(place.context(stream, 2, lineDecoders, [newer, mirror])), [newer])
      expect(done).to.include({ index: newerLive, outcome: 'moved' })
      await beat()
    })
    afterEach(() => place.remove())

    it('waits until a newer program that has stopped just now is known to have', async () => {
      onPause = async () => void (now += heartbeatMaxMs / 4)
      const way = await rollBack(older, counting)
      expect(way).to.deep.equal({ index: 'counting-v1-001', former: newerLive })
      const { live, followed } = await roster()
      expect([live, followed.map(({ index, as }) => [index, as])]).to.deep.equal([
        'counting-v1-001',
        [[newerLive, 'kept']],
      ])
    })

    it('is refused while the newer program runs, and possible when it has stopped', async () => {
      onPause = async () => {
        now += 1_000
        await beat()
      }
      const failure = await rollBack(older, counting).catch((error: unknown) => error)
      expect(String(failure)).to.match(/a program of another version folds counting-v2-001: stop it first/)
      const { live, followed } = await roster()
      expect([live, followed.map(({ as }) => as)]).to.deep.equal([newerLive, ['kept']])
      now += 2 * heartbeatMaxMs
      await rollBack(older, counting)
      expect((await roster()).live).to.equal('counting-v1-001')
    })

    it('goes past what the newer program has kept to what is kept of its own', async () => {
      await withWriter((writer) => changeRoster(writer, 'counting', keepOn('counting-v1-001')))
      now += 2 * heartbeatMaxMs
      const [again] = await rebuild(timed(place.context(stream, 2, lineDecoders, [newer, mirror])), [newer])
      expect(again).to.include({ former: newerLive, outcome: 'moved' })
      const way = await rollBack(older, counting)
      expect(way).to.deep.equal({ index: 'counting-v1-001', former: again?.index })
      expect((await roster()).live).to.equal('counting-v1-001')
    })

    it('is refused where none of its own is kept any more, and told what leads back', async () => {
      now += 2 * heartbeatMaxMs
      await rebuild(timed(place.context(stream, 2, lineDecoders, [newer, mirror])), [newer])
      const before = await roster()
      const way = await wayBack(older, counting).catch((error: unknown) => error)
      expect(String(way)).to.include(
        'roll back counting (no build of version 1 is kept, and this program does not fold counting-v2-002: run rebuild counting of this program)',
      )
      expect(await roster()).to.deep.equal(before)
      const [done] = await rebuild(older, [counting])
      expect(done).to.include({ outcome: 'moved' })
      expect(await wayBack(older, counting), "the newer program's is no way back").to.equal(undefined)
    })

    it('has nothing to do where readers have not moved yet, and does not say that they are about to', async () => {
      now += 2 * heartbeatMaxMs
      await rollBack(older, counting)
      // The newer program was started again, and stopped before its build had caught up.
      await withWriter((writer) => changeRoster(writer, 'counting', nominate(newerLive)))
      const before = await roster()
      const failure = await rollBack(older, counting).catch((error: unknown) => error)
      expect(String(failure)).to.include('roll back counting (no earlier build of it is kept)')
      expect(await roster()).to.deep.equal(before)
    })

    it('is no rebuild either while the newer program runs: nothing is folded that readers would not get', async () => {
      onPause = async () => {
        now += 1_000
        await beat()
      }
      for (const start of [planRebuild, rebuild]) {
        const failure = await start(older, [counting]).catch((error: unknown) => error)
        expect(String(failure)).to.match(
          /rebuild counting \(a program of a later version folds counting-v2-001: stop it first\)/,
        )
      }
      const { live, followed } = await roster()
      expect([live, followed.map(({ index }) => index)]).to.deep.equal([newerLive, ['counting-v1-001']])
      const builds = await withWriter((writer) => writer.builds('counting'))
      expect(builds.map(({ index }) => index)).to.have.members(['counting-v1-001', newerLive])
    })

    it('says so where the newer program was started while a rebuild folded, which goes on when it has stopped', async () => {
      now += 2 * heartbeatMaxMs
      onPause = async () => {
        now += 1_000
        await beat()
      }
      const fold: typeof older.index.fold = async (...given) => {
        await beat()
        return older.index.fold(...given)
      }
      const failure = await rebuild({ ...older, index: { ...older.index, fold } }, [counting]).catch(
        (error: unknown) => error,
      )
      expect(String(failure)).to.match(/rebuild counting \(a program of a later version folds counting-v2-001/)
      expect((await roster()).live).to.equal(newerLive)
      now += 2 * heartbeatMaxMs
      const [done] = await rebuild(older, [counting])
      expect(done).to.include({ index: 'counting-v1-002', resumed: true, outcome: 'moved' })
    })

    it('gives way to a rebuild of the older program, which waits as well', async () => {
      onPause = async () => void (now += heartbeatMaxMs / 4)
      const [done] = await rebuild(older, [counting])
      expect(done).to.include({ former: newerLive, outcome: 'moved' })
      expect((await roster()).live).to.equal(done?.index)
    })
  })
}
