import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import type { BuildContext } from '#projections/builds/build-place.ts'
import { rebuild, type RebuildOptions } from '#projections/builds/rebuild.ts'
import { rollBack } from '#projections/builds/roll-back.ts'
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

const [first, second] = ['counting-v1-001', 'counting-v1-002']
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
      const [done] = await rebuild(context, [counting], one)
      expect([done?.outcome, done?.former]).to.deep.equal(['moved', first])
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
