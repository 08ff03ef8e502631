import { expect } from 'chai'
import type { BuildContext } from '#projections/builds/build-place.ts'
import { liveBuilds, verify, type Verdict } from '#projections/builds/verify.ts'
import type { IndexAudit } from '#projections/index-audit.ts'
import type { IndexWriter } from '#projections/index-store.ts'
import { createMemoryIndexStore, type MemoryIndexStore } from '#projections/stores/memory/store.ts'
import type { Position } from '#src/events/envelope.ts'
import { createMemoryStream } from '#streams/memory/stream.ts'
import type { Stream } from '#streams/stream.ts'
import { memoryContext } from '#test/support/build-context.ts'
import { counting, lineEvent } from '#test/support/line-projections.ts'
import { foldLive } from '#test/support/random-log.ts'

const index = 'counting-v1-001'
const [dayBefore, dayAfter] = ['2026-11-21', '2026-11-22']
/** The thirtieth event is received at midnight. */
const [early, late] = [1, 31]

describe('verify, where one part of a workspace is further than the index has said', () => {
  let stream: Stream
  let store: MemoryIndexStore
  let context: BuildContext
  let sent: number
  beforeEach(() => {
    stream = createMemoryStream({ partition: '0' })
    store = createMemoryIndexStore()
    context = memoryContext({ stream, projections: [counting] }, store)
    sent = 0
  })
  const send = async (from: number, line: string): Promise<Position> =>
    (await stream.append([lineEvent(from + sent++, [line])])).last

  /** The day before is as far as `at`, though only `said` is said; the other day is in no file. What is awaited is then said. */
  async function verdictAt(at: Position, said: Position): Promise<Readonly<{ verdict: Verdict; waits: number }>> {
    const freeze: IndexAudit['freeze'] = async (of, part) => {
      if (part.day === dayAfter) return store.audit.freeze(of, { ...part, day: '2026-01-01' })
      return { ...(await store.audit.freeze(of, part)), position: at }
    }
    const parts: IndexAudit['parts'] = async (of) =>
      (await store.audit.parts(of)).filter(({ day }) => day === dayBefore)
    let waits = 0
    const pause = async (): Promise<void> => {
      waits++
      const now = context.clock()
      await store.writer.heartbeat(index, { position: at, head: at, at: now, caughtUpAt: now })
    }
    const builds: IndexWriter['builds'] = async (projection) =>
      (await store.writer.builds(projection)).map((build) => ({ ...build, checkpoint: said }))
    const seen: BuildContext = {
      ...context,
      timers: { ...context.timers, pause },
      index: {
        ...context.index,
        writer: () => ({ ...store.writer, builds }),
        audit: () => ({ ...store.audit, freeze, parts }),
      },
    }
    return { verdict: (await verify(seen, await liveBuilds(seen, ['counting'])))[0] as Verdict, waits }
  }
  it('does not wait for another day of which nothing needs to be there yet', async () => {
    const said = await send(early, 'one')
    await send(late, 'two')
    const at = await send(early, 'one')
    await foldLive(context)
    const { verdict, waits } = await verdictAt(at, said)
    expect(verdict.differences).to.deep.equal([])
    expect([verdict.equal, waits]).to.deep.equal([true, 0])
  })

  it('names what is missing of a day that must be there, once the index has said that it is that far', async () => {
    await send(early, 'one')
    const said = await send(late, 'two')
    await send(late, 'two')
    const at = await send(early, 'one')
    await foldLive(context)
    const { verdict, waits } = await verdictAt(at, said)
    expect([verdict.equal, waits]).to.deep.equal([false, 1])
    expect(new Set(verdict.differences.map(({ day }) => day))).to.deep.equal(new Set([dayAfter]))
    expect(verdict.differences.map(({ id }) => id)).to.include('two')
  })
})
