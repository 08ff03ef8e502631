import { expect } from 'chai'
import { changeRoster, keepOn, nominate, promoteTo } from '#projections/rosters/roster.ts'
import type { IndexWriter } from '#projections/index-store.ts'
import { withSeenEvents } from '#projections/folding/seen-events.ts'
import { createMemoryIndexStore } from '#projections/stores/memory/store.ts'
import { createMemoryStream } from '#streams/memory/stream.ts'
import { append, atHead, start } from '#test/support/projector-run.ts'
import { counting } from '#test/support/line-projections.ts'

const [first, second] = ['counting-v1-001', 'counting-v1-002']

describe('a build that readers have left, whose time is over', () => {
  for (const [what, keep, live] of [
    ['somebody keeps it', keepOn(first), second],
    ['readers are to go back to it', nominate(first), first],
  ] as const) {
    it(`stays where ${what} just as the projector finds that`, async () => {
      const [stream, { writer, ...store }] = [createMemoryStream({ partition: '0' }), createMemoryIndexStore()]
      await append(stream, [['line'], ['line']])
      for (const index of [first, second]) {
        await writer.open(index, withSeenEvents(counting), stream.epoch)
        await changeRoster(writer, 'counting', nominate(index))
      }
      await changeRoster(writer, 'counting', promoteTo(second, first, 1_002_000))
      let said = 0
      const roster: IndexWriter['roster'] = async (projection) => {
        const found = await writer.roster(projection)
        const isOver = found.followed.some(({ untilMs = Infinity }) => untilMs <= run.clock())
        if (isOver && said++ === 0) await changeRoster(writer, projection, keep)
        return found
      }
      const run = start({ stream, writer: { ...writer, roster } })
      await run.until(await atHead(stream))
      for (const at of [1_001_000, 1_002_000, 1_003_000]) {
        run.tick()
        await run.until((heartbeat, index) => index === second && heartbeat.at >= at)
      }
      expect((await store.reader.progress('counting'))?.index).to.equal(live)
      expect([said, (await writer.builds('counting')).map(({ index }) => index)]).to.deep.equal([1, [first, second]])
      await run.stop()
    })
  }
})
