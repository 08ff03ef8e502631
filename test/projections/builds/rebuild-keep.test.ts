import { expect } from 'chai'
import type { BuildContext } from '#projections/builds/build-place.ts'
import type { IndexWriter } from '#projections/index-store.ts'
import { rollBack } from '#projections/builds/roll-back.ts'
import { rebuild } from '#projections/builds/rebuild.ts'
import { changeRoster, nominate, promoteTo } from '#projections/rosters/roster.ts'
import { withSeenEvents } from '#projections/folding/seen-events.ts'
import type { Stream } from '#streams/stream.ts'
import { buildPlaces, foldedPlace, withWriterOf, type Place } from '#test/support/build-places.ts'
import { counting, lineDecoders, mirror } from '#test/support/line-projections.ts'
import { atHead, start } from '#test/support/projector-run.ts'
import { liveOf } from '#test/support/promote.ts'

for (const [name, create] of Object.entries(buildPlaces)) {
  describe(`rebuild --keep, ${name}, keeps the former build without a limit`, () => {
    let stream: Stream
    let place: Place
    let context: BuildContext
    beforeEach(async () => {
      ;({ stream, place, context } = await foldedPlace(create, 30))
    })
    afterEach(() => place.remove())

    const withWriter = <T>(task: (writer: IndexWriter) => Promise<T>): Promise<T> => withWriterOf(place, task)
    const live = () => withWriter((writer) => liveOf(writer, 'counting'))

    it('of each projection', async () => {
      await rebuild(context, [counting], { keep: true })
      const { followed } = await withWriter((writer) => writer.roster('counting'))
      expect(followed).to.deep.equal([{ index: 'counting-v1-001', as: 'kept' }])
    })

    it('and goes back to the one that was left last all the same', async () => {
      await rebuild(context, [counting], { keep: true })
      await rebuild(context, [counting])
      await rollBack(context, counting)
      expect(await live()).to.equal('counting-v1-002')
    })

    it('also where readers move only when a server has started', async () => {
      const raised = { ...counting, version: 2 }
      const head = await stream.head()
      await withWriter(async (writer) => {
        await writer.open('counting-v1-001', withSeenEvents(counting), stream.epoch)
        const now = Date.now() + 60_000
        await writer.heartbeat('counting-v1-001', { position: head, head, at: now, caughtUpAt: now })
      })
      const later = place.context(stream, 2, lineDecoders, [raised, mirror])
      // The one that keeps is given up for the next, which keeps that too.
      for (const keep of [true, false]) {
        const [done] = await rebuild(later, [raised], { keep })
        expect(done).to.include({ former: 'counting-v1-001', outcome: 'waits' })
      }
      expect(await live()).to.equal('counting-v1-001')
      const moved = Promise.withResolvers<void>()
      const writer = place.writer()
      const changing: IndexWriter = {
        ...writer,
        async changeRoster(projection, roster) {
          const changed = await writer.changeRoster(projection, roster)
          if (roster.live === 'counting-v2-002') moved.resolve()
          return changed
        },
      }
      const run = start({ stream, writer: changing, projections: [raised, mirror] })
      await run.until(await atHead(stream))
      run.tick()
      await moved.promise
      const { followed } = await writer.roster('counting')
      expect(followed).to.deep.equal([
        { index: 'counting-v2-001', as: 'gone' },
        { index: 'counting-v1-001', as: 'kept' },
      ])
      await run.stop()
      await writer.close()
    })

    it('also where a program that does not know of that moves readers', async () => {
      const writer = (): IndexWriter => {
        const made = place.writer()
        const changeRoster: IndexWriter['changeRoster'] = (projection, roster) => {
          const followed = roster.followed.map(({ keeps, ...build }) => (keeps === undefined ? build : { ...build }))
          return made.changeRoster(projection, { ...roster, followed })
        }
        return { ...made, changeRoster }
      }
      const [done] = await rebuild({ ...context, index: { ...context.index, writer } }, [counting], { keep: true })
      expect(done?.outcome).to.equal('moved')
      const { followed } = await withWriter((other) => other.roster('counting'))
      expect(followed).to.deep.equal([{ index: 'counting-v1-001', as: 'kept' }])
    })

    it('also where readers have left it for another meanwhile', async () => {
      const other = 'counting-v1-002'
      await withWriter(async (writer) => {
        await writer.open(other, withSeenEvents(counting), stream.epoch)
        await changeRoster(writer, 'counting', nominate(other))
      })
      const fold: BuildContext['index']['fold'] = async (...given) => {
        const move = promoteTo(other, 'counting-v1-001', Date.now() + 60_000)
        await withWriter((writer) => changeRoster(writer, 'counting', move))
        return context.index.fold(...given)
      }
      const [done] = await rebuild({ ...context, index: { ...context.index, fold } }, [counting], { keep: true })
      expect(done).to.include({ former: 'counting-v1-001', index: 'counting-v1-003', outcome: 'moved' })
      const { followed } = await withWriter((writer) => writer.roster('counting'))
      expect(followed.map(({ index, as }) => [index, as])).to.deep.equal([
        ['counting-v1-001', 'kept'],
        [other, 'kept'],
      ])
      expect(followed[0]).not.to.have.property('untilMs')
    })
  })
}
