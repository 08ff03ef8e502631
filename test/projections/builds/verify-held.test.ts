import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import type { BuildContext } from '#projections/builds/build-place.ts'
import { liveBuilds, verify } from '#projections/builds/verify.ts'
import type { FrozenPart, IndexAudit } from '#projections/index-audit.ts'
import { createMemoryStream } from '#streams/memory/stream.ts'
import type { Stream } from '#streams/stream.ts'
import { sqliteContext } from '#test/support/build-context.ts'
import { counting } from '#test/support/line-projections.ts'
import { appendRandom, foldLive } from '#test/support/random-log.ts'

describe('verify, while it holds a part', () => {
  let folder: string
  beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'throughline-held-'))))
  afterEach(() => rmSync(folder, { recursive: true }))

  it('folds nothing of what has come since it began: a writer cannot shorten the log of changes of a file that is held', async () => {
    const stream = createMemoryStream({ partition: '0' })
    const held = new Set<FrozenPart>()
    let [readThen, isLater] = [0, false]
    const log: Stream = {
      ...stream,
      async read(after, max) {
        const events = await stream.read(after, max)
        if (held.size > 0) readThen += events.length
        return events
      },
    }
    const context = sqliteContext({ stream: log, projections: [counting] }, folder)
    await appendRandom(stream, 1, 40)
    await foldLive(context)
    const audit = (): IndexAudit => {
      const own = context.index.audit()
      const freeze: IndexAudit['freeze'] = async (...given) => {
        const frozen = await own.freeze(...given)
        held.add(frozen)
        const release = async (): Promise<void> => {
          held.delete(frozen)
          await frozen.release()
        }
        return { ...frozen, release }
      }
      return { ...own, freeze }
    }
    const seen: BuildContext = {
      ...context,
      index: { ...context.index, audit },
      // When the log is folded, and before the first part is compared.
      async firstDays() {
        if (!isLater) {
          isLater = true
          await appendRandom(stream, 40, 200)
          await foldLive(context)
        }
        return context.firstDays()
      },
    }
    const [verdict] = await verify(seen, await liveBuilds(seen, ['counting']))
    expect(verdict).to.include({ equal: true, position: await stream.head() })
    expect([held.size, readThen]).to.deep.equal([0, 0])
  })
})
