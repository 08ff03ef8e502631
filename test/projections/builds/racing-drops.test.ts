import { expect } from 'chai'
import type { BuildContext } from '#projections/builds/build-place.ts'
import type { IndexAudit } from '#projections/index-audit.ts'
import type { IndexWriter } from '#projections/index-store.ts'
import { dropBuild } from '#projections/builds/drop-build.ts'
import { rollBack } from '#projections/builds/roll-back.ts'
import { rebuild } from '#projections/builds/rebuild.ts'
import { changeRoster, forget, nominate, promoteTo } from '#projections/rosters/roster.ts'
import { withSeenEvents } from '#projections/folding/seen-events.ts'
import { liveBuilds, verify } from '#projections/builds/verify.ts'
import type { Stream } from '#streams/stream.ts'
import { PermanentError } from '#src/lib/failure.ts'
import { buildPlaces, foldedPlace, withWriterOf, type Place } from '#test/support/build-places.ts'
import { counting } from '#test/support/line-projections.ts'
import { appendRandom } from '#test/support/random-log.ts'
import { liveOf } from '#test/support/promote.ts'

for (const [name, create] of Object.entries(buildPlaces)) {
  describe(`builds that come and go while they are looked at, ${name}`, () => {
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

    it('does not drop a build to which readers have moved just now', async () => {
      await rebuild(context, [counting])
      const back = nominate('counting-v1-001')
      const writer = (): IndexWriter => {
        const made = place.writer()
        const builds: IndexWriter['builds'] = async (projection) => {
          const stored = await made.builds(projection)
          await changeRoster(made, projection, back)
          await changeRoster(made, projection, promoteTo('counting-v1-001', 'counting-v1-002', Date.now() + 60_000))
          return stored
        }
        return { ...made, builds }
      }
      const racing: BuildContext = { ...context, index: { ...context.index, writer } }
      const refused = await dropBuild(racing, counting, 'counting-v1-001').catch((error: unknown) => error)
      expect(String(refused)).to.match(/readers use it/)
      expect(await live()).to.equal('counting-v1-001')
      expect(await names()).to.deep.equal(['counting-v1-001', 'counting-v1-002'])
    })

    it('leaves the removal of a build to who folds it', async () => {
      await rebuild(context, [counting])
      const dropped = 'counting-v1-001'
      const at = context.clock()
      await withWriter(async (writer) => {
        await writer.open('counting-v1-002', withSeenEvents(counting), stream.epoch)
        await writer.heartbeat('counting-v1-002', { position: 0, head: 0, at, caughtUpAt: at })
      })
      let looks = 0
      const pause = async (): Promise<void> => {
        // As the projector does with the next heartbeat, or the one after that.
        if (++looks === 2) await withWriter((writer) => changeRoster(writer, 'counting', forget(dropped)))
      }
      await dropBuild({ ...context, clock: () => at, timers: { ...context.timers, pause } }, counting, dropped)
      expect([looks, await names()]).to.deep.equal([2, [dropped, 'counting-v1-002']])
    })

    it('waits for no projector that has stopped, though its clock was hours ahead; for one that runs so they do', async () => {
      const [first, second] = ['counting-v1-001', 'counting-v1-002']
      let now = context.clock()
      let [ahead, pauses] = [now + 3 * 3_600_000, 0]
      const beat = (index: string): Promise<void> =>
        withWriter(async (writer) => {
          await writer.open(index, withSeenEvents(counting), stream.epoch)
          await writer.heartbeat(index, { position: 0, head: 0, at: (ahead += 1_000), caughtUpAt: now })
        })
      const beside = (onPause = async (): Promise<void> => {}): BuildContext => {
        const pause = async (ms: number): Promise<void> => {
          if (++pauses > 1_000) throw new Error('it waits without end')
          now += ms
          await onPause()
        }
        return { ...context, clock: () => now, timers: { ...context.timers, pause } }
      }
      await beat(first)
      expect((await rebuild(beside(), [counting]))[0]?.outcome).to.equal('moved')
      await beat(second)
      let looks = 0
      const running = beside(async () => {
        await beat(second)
        // As the projector does with one of the next heartbeats.
        if (++looks === 4) await withWriter((writer) => changeRoster(writer, 'counting', forget(first)))
      })
      await dropBuild(running, counting, first)
      expect([await live(), await names()], 'left to who folds it').to.deep.equal([second, [first, second]])
    })

    it('finds nothing wrong in a build that is dropped while it is verified, but says that it is gone', async () => {
      const builds = await liveBuilds(context, ['counting'])
      await rebuild(context, [counting])
      let looks = 0
      const audit = (): IndexAudit => {
        const made = context.index.audit()
        const freeze: IndexAudit['freeze'] = async (index, part) => {
          // Once to see where it stands, once to compare it: the last of them.
          if (++looks === 2 * (await made.parts(index)).length) await dropBuild(context, counting, index)
          return made.freeze(index, part)
        }
        return { ...made, freeze }
      }
      const racing: BuildContext = { ...context, index: { ...context.index, audit } }
      const failure = await verify(racing, builds).catch((error: unknown) => error)
      expect(String(failure)).to.match(/verify counting-v1-001.*there is no such build/)
    })

    it('goes back to all of the log where nobody folds: the live build may hold more than it says', async () => {
      await rebuild(context, [counting])
      const told = await stream.head()
      await appendRandom(stream, 200, 240)
      await rollBack(context, counting)
      const { position } = await withWriter((writer) => writer.checkpoint('counting-v1-001'))
      expect(position)
        .to.be.above(told)
        .and.to.equal(await stream.head())
    })

    for (const when of ['before', 'after'] as const) {
      it(`says that a build was dropped while it was folded to go back to it, and leaves nothing of it (${when})`, async () => {
        await rebuild(context, [counting])
        await appendRandom(stream, 200, 240)
        const drop = () => dropBuild(context, counting, 'counting-v1-001')
        const fold: BuildContext['index']['fold'] = async (...given) => {
          if (when === 'before') await drop()
          await context.index.fold(...given)
          if (when === 'before') throw new PermanentError({ operation: 'write', subject: 'it', hint: 'open it first' })
          await drop()
        }
        const racing: BuildContext = { ...context, index: { ...context.index, fold } }
        const failure = await rollBack(racing, counting).catch((error: unknown) => error)
        expect(String(failure)).to.match(/move readers to counting-v1-001.*it was dropped meanwhile/)
        expect(await live()).to.equal('counting-v1-002')
        expect(await names()).to.deep.equal(['counting-v1-002'])
      })
    }
  })
}
