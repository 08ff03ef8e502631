import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { changeRoster, forget, giveUp, nominate, promoteTo } from '#projections/rosters/roster.ts'
import { withSeenEvents } from '#projections/folding/seen-events.ts'
import type { IndexWriter } from '#projections/index-store.ts'
import { createSqliteIndexWriter } from '#projections/stores/sqlite/writing/writer.ts'
import { positionStep } from '#src/events/envelope.ts'
import { createMemoryStream } from '#streams/memory/stream.ts'
import { counting } from '#test/support/line-projections.ts'
import { openPathsOf } from '#test/support/open-paths.ts'
import { append, atHead, start } from '#test/support/projector-run.ts'

const first = 'counting-v1-001'
const second = 'counting-v1-002'

describe('a build that another process has removed while it was folded', () => {
  it('has no file open: its room is free at once', async () => {
    const stream = createMemoryStream({ partition: '0' })
    const folder = mkdtempSync(join(tmpdir(), 'throughline-lanes-'))
    const createWriter = (): IndexWriter => createSqliteIndexWriter({ folder, limits: { indexFilesOpenMax: 8 } })
    const [writer, other] = [createWriter(), createWriter()]
    const openOf = (index: string) => openPathsOf(process.pid).filter((path) => path.startsWith(join(folder, index)))
    try {
      await append(
        stream,
        Array.from({ length: 6 }, (_, n) => [`line ${n}`]),
      )
      const before = start({ stream, writer })
      await before.until(await atHead(stream))
      await before.stop()
      await writer.open(second, withSeenEvents(counting), stream.epoch)
      await changeRoster(writer, 'counting', nominate(second))
      await changeRoster(writer, 'counting', promoteTo(second, first, 2_000_000))
      const run = start({ stream, writer })
      await run.until(({ position }, index) => index === second && position >= 6 * positionStep)
      expect(openOf(first)).not.to.deep.equal([])
      for (const change of [giveUp(first), forget(first)]) {
        await changeRoster(other, 'counting', change)
        await other.drop(first)
      }
      run.tick()
      await run.until(({ at }, index) => index === second && at >= 1_001_000)
      expect(openOf(first)).to.deep.equal([])
      expect((await writer.builds('counting')).map(({ index }) => index)).to.deep.equal([second])
      await run.stop()
    } finally {
      for (const each of [writer, other]) await each.close()
      rmSync(folder, { recursive: true })
    }
  })
})
