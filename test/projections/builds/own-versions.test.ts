import { expect } from 'chai'
import { isCaughtUp, lagMs, type IndexReader } from '#projections/index-store.ts'
import { withOwnVersions } from '#projections/builds/own-versions.ts'
import { verifySample } from '#projections/builds/sample.ts'
import { createMemoryIndexStore } from '#projections/stores/memory/store.ts'
import { present } from '#src/lib/assert.ts'
import { liveBuilds, verify } from '#projections/builds/verify.ts'
import { buildPlaces, foldedPlace } from '#test/support/build-places.ts'
import { counting, lineDecoders, mirror } from '#test/support/line-projections.ts'

describe('a reader of builds that programs of several versions fold', () => {
  const nowMs = 1_000_000
  const progress = { after: 0, position: 4096, head: 4096, at: nowMs - 100, caughtUpAt: nowMs - 100 }
  const readerOf = (index: string): IndexReader => {
    const { reader } = createMemoryIndexStore()
    return withOwnVersions({ ...reader, progress: async () => ({ ...progress, index }) }, [counting])
  }

  it('takes one of another version for complete never, however far it is', async () => {
    const own = present(await readerOf('counting-v1-004').progress('counting'), 'it is there')
    expect([isCaughtUp(own, nowMs), lagMs(own, nowMs)]).to.deep.equal([true, 0])
    for (const index of ['counting-v0-001', 'counting-v2-001']) {
      const other = present(await readerOf(index).progress('counting'), 'it is there')
      expect([isCaughtUp(other, nowMs), lagMs(other, nowMs)], index).to.deep.equal([false, 100])
    }
  })
})

for (const [name, create] of Object.entries(buildPlaces)) {
  describe(`what an earlier program has folded, ${name}`, () => {
    it('is not judged by another version: verify says so, and samples leave it out', async () => {
      const { stream, place } = await foldedPlace(create, 30)
      const projections = [{ ...counting, version: 2 }, mirror]
      const context = place.context(stream, 1, lineDecoders, projections)
      const builds = await liveBuilds(context, ['counting', 'mirror'])
      const failure = await verify(context, builds).catch(String)
      expect(failure).to.match(
        /^PermanentError: verify counting-v1-001 of partition \S+ \(this program folds counting v2: it has nothing/,
      )
      const picked: number[] = []
      const pick = (below: number): number => {
        picked.push(below)
        return 0
      }
      expect(await verifySample(context, pick, 1_000_000)).to.include({ index: 'mirror-v1-001', equal: true })
      expect(picked[0]).to.equal(1)
      place.remove()
    })
  })
}
