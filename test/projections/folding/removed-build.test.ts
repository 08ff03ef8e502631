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
import type { Stream } from '#streams/stream.ts'
import { counting } from '#test/support/line-projections.ts'
import { openPathsOf } from '#test/support/open-paths.ts'
import { append, atHead, start } from '#test/support/projector-run.ts'

const first = 'counting-v1-001'
const second = 'counting-v1-002'
const third = 'counting-v1-003'

describe('a build that another process has removed while it was folded', () => {
  const createWriter = (): IndexWriter => createSqliteIndexWriter({ folder, limits: { indexFilesOpenMax: 8 } })
  const openOf = (index: string) => openPathsOf(process.pid).filter((path) => path.startsWith(join(folder, index)))
  let folder: string
  let stream: Stream
  let writer: IndexWriter
  let other: IndexWriter
  beforeEach(async () => {
    stream = createMemoryStream({ partition: '0' })
    folder = mkdtempSync(join(tmpdir(), 'throughline-lanes-'))
    writer = createWriter()
    other = createWriter()
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
  })
  afterEach(async () => {
    for (const each of [writer, other]) await each.close()
    rmSync(folder, { recursive: true })
  })

  async function removeFirst(): Promise<void> {
    for (const change of [giveUp(first), forget(first)]) {
      await changeRoster(other, 'counting', change)
      await other.drop(first)
    }
  }

  it('has no file open: its room is free at once', async () => {
    const run = start({ stream, writer })
    await run.until(({ position }, index) => index === second && position >= 6 * positionStep)
    expect(openOf(first)).not.to.deep.equal([])
    await removeFirst()
    run.tick()
    await run.until(({ at }, index) => index === second && at >= 1_001_000)
    expect(openOf(first)).to.deep.equal([])
    expect((await writer.builds('counting')).map(({ index }) => index)).to.deep.equal([second])
    await run.stop()
  })

  it('has none either where readers move meanwhile, after which the roster as it is known does not name it', async () => {
    await writer.open(third, withSeenEvents(counting), stream.epoch)
    await changeRoster(writer, 'counting', nominate(third))
    let openBefore: readonly string[] = []
    const slower: IndexWriter = {
      ...writer,
      async changeRoster(projection, roster) {
        if (roster.live === third && openBefore.length === 0) {
          openBefore = openOf(first)
          await removeFirst()
        }
        return writer.changeRoster(projection, roster)
      },
    }
    const run = start({ stream, writer: slower })
    await run.until(({ position }, index) => index === third && position >= 6 * positionStep)
    run.tick()
    await run.until(({ at }, index) => index === third && at >= 1_001_000)
    run.tick()
    await run.until(({ at }, index) => index === third && at >= 1_002_000)
    expect((await writer.roster('counting')).live).to.equal(third)
    expect(openBefore).not.to.deep.equal([])
    expect(openOf(first)).to.deep.equal([])
    await run.stop()
  })
})
