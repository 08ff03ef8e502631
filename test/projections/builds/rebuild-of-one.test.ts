import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import type { BuildContext } from '#projections/builds/build-place.ts'
import { planRebuild, rebuild, type RebuildOptions } from '#projections/builds/rebuild.ts'
import { rollBack } from '#projections/builds/roll-back.ts'
import { withSeenEvents } from '#projections/folding/seen-events.ts'
import { changeRoster, nominate } from '#projections/rosters/roster.ts'
import { workspaceFolder } from '#projections/stores/sqlite/paths.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import { PermanentError } from '#src/lib/failure.ts'
import { createMemoryStream } from '#streams/memory/stream.ts'
import { sqliteContext } from '#test/support/build-context.ts'
import { buildPlaces, foldedPlace, withWriterOf } from '#test/support/build-places.ts'
import { counting } from '#test/support/line-projections.ts'
import { liveOf } from '#test/support/promote.ts'
import { appendRandom, foldLive } from '#test/support/random-log.ts'
import { rejection } from '#test/support/read-all.ts'

const [first, second, third] = ['counting-v1-001', 'counting-v1-002', 'counting-v1-003']
const one = { workspaceId: workspaceIdOf('other') }

for (const [name, create] of Object.entries(buildPlaces)) {
  describe(`a rebuild of one workspace, ${name}`, () => {
    it('does not lead readers to copies of a build that they were led away from meanwhile', async () => {
      const { place, context } = await foldedPlace(create, 60)
      await rebuild(context, [counting])
      // It is asked for while the new build is verified.
      const firstDays: BuildContext['firstDays'] = async () => {
        await rollBack(context, counting)
        return context.firstDays()
      }
      const failure = await rejection(rebuild({ ...context, firstDays }, [counting], one))
      expect(failure).to.be.instanceOf(PermanentError)
      expect(String(failure)).to.contain(
        `would be copied from ${second}, which readers have left for ${first} meanwhile: begin again`,
      )
      const { live, followed } = await withWriterOf(place, (writer) => writer.roster('counting'))
      expect([live, followed.some(({ as }) => as === 'candidate')]).to.deep.equal([first, false])
      // A copy is begun anew each time: what was refused would hold its room, and the cut of the log, for nobody.
      const stored = await withWriterOf(place, (writer) => writer.builds('counting'))
      expect(stored.map(({ index }) => index)).to.deep.equal([first, second])
      const [done] = await rebuild(context, [counting], one)
      expect([done?.outcome, done?.former]).to.deep.equal(['moved', first])
      place.remove()
    })

    it('copies no build that readers are about to leave: they would go on to copies of what it holds', async () => {
      const { stream, place, context } = await foldedPlace(create, 60)
      const nominateThird = (): Promise<unknown> =>
        withWriterOf(place, async (writer) => {
          await writer.open(third, withSeenEvents(counting), stream.epoch)
          return changeRoster(writer, 'counting', nominate(third))
        })
      const about = `would be copied from ${first}, and readers are about to move to ${third}`
      // While the new build is verified.
      const firstDays: BuildContext['firstDays'] = async () => {
        await nominateThird()
        return context.firstDays()
      }
      expect(String(await rejection(rebuild({ ...context, firstDays }, [counting], one)))).to.contain(about)
      for (const start of [planRebuild, rebuild])
        expect(String(await rejection(start(context, [counting], one)))).to.contain(about)
      const { live, followed } = await withWriterOf(place, (writer) => writer.roster('counting'))
      expect([live, followed.filter(({ as }) => as !== 'gone')]).to.deep.equal([
        first,
        [{ index: third, as: 'candidate' }],
      ])
      place.remove()
    })
  })
}

describe('a rebuild of one workspace, whose day files are removed', () => {
  it('is refused where a day of another was removed before it was copied', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'throughline-rebuild-'))
    const stream = createMemoryStream({ partition: '0' })
    const context = sqliteContext({ stream, projections: [counting] }, folder)
    await appendRandom(stream, 1, 60)
    await foldLive(context)
    const removeDay = (workspace: string): void => {
      const days = workspaceFolder(folder, first, workspaceIdOf(workspace))
      for (const file of readdirSync(days)) if (file.startsWith('2026-11-21')) rmSync(join(days, file))
    }
    const losing = (workspace: string): RebuildOptions => ({
      ...one,
      onProgress: ({ phase }) => void (phase === 'copy' && removeDay(workspace)),
    })
    const [own] = await rebuild(context, [counting], losing('other'))
    expect(own?.outcome).to.equal('moved')
    await rollBack(context, counting)
    const failure = await rejection(rebuild(context, [counting], losing('acme')))
    expect(String(failure)).to.contain(`${first}, which lacks days of them: rebuild all of counting`)
    const writer = context.index.writer()
    expect(await liveOf(writer, 'counting')).to.equal(first)
    await writer.close()
    rmSync(folder, { recursive: true })
  })
})
