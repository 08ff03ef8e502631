import { expect } from 'chai'
import type { BuildContext } from '#projections/builds/build-place.ts'
import { foldShares } from '#projections/builds/fold-shares.ts'
import { rebuild } from '#projections/builds/rebuild.ts'
import { liveBuilds, verify } from '#projections/builds/verify.ts'
import { positionStep, type Position } from '#src/events/envelope.ts'
import { TransientError } from '#src/lib/failure.ts'
import { LostTailError, type Stream } from '#streams/stream.ts'
import { behind } from '#test/support/behind.ts'
import { buildPlaces, foldedPlace, withWriterOf, type Place } from '#test/support/build-places.ts'
import { counting } from '#test/support/line-projections.ts'
import { rejection } from '#test/support/read-all.ts'

for (const [name, create] of Object.entries(buildPlaces)) {
  describe(`a worker of a rebuild whose server is behind, ${name}`, () => {
    let stream: Stream
    let place: Place
    let context: BuildContext
    beforeEach(async () => {
      ;({ stream, place, context } = await foldedPlace(create, 90))
    })
    afterEach(() => place.remove())

    /** Only the workers read from there. */
    const withWorkers = (of: Stream): BuildContext => {
      const { fold } = place.context(of).index
      return { ...context, index: { ...context.index, fold } }
    }
    const index = 'counting-v1-002'
    const fold = (of: Stream, until: Position) =>
      foldShares(withWorkers(of), withWorkers(of).index, [{ projection: 'counting', index, after: 0, until }])
    const checkpoint = async () => (await withWriterOf(place, (writer) => writer.checkpoint(index))).position

    it('leaves out nothing where the next answer has more', async () => {
      let left = 1
      const [done] = await rebuild(withWorkers(behind(stream, (after) => after > 0 && left-- > 0)), [counting])
      expect([done?.outcome, done?.verdict.equal, left < 1]).to.deep.equal(['moved', true, true])
      const [verdict] = await verify(context, await liveBuilds(context, ['counting']))
      expect(verdict?.equal).to.equal(true)
    })

    it('does not say that it has folded what it has not read, and folds it when it is asked again', async () => {
      const until = await stream.head()
      const failure = await rejection(
        fold(
          behind(stream, (after) => after > 0 && after < until),
          until,
        ),
      )
      expect(failure).to.be.instanceOf(TransientError)
      expect(String(failure)).to.match(/read after position \d+ of stream 0 \(.*is behind/)
      expect(await checkpoint()).to.be.below(until)
      await fold(stream, until)
      const [verdict] = await verify(context, [{ projection: 'counting', index }])
      expect([verdict?.equal, await checkpoint()]).to.deep.equal([true, until])
    })

    it('does not say so of what the log has lost', async () => {
      const until = (await stream.head()) + positionStep
      expect(await rejection(fold(stream, until))).to.be.instanceOf(LostTailError)
      expect(await checkpoint()).to.be.below(until)
    })
  })
}
