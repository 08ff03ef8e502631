import { expect } from 'chai'
import type { BuildContext } from '#projections/builds/build-place.ts'
import { liveBuilds, verify, type Verdict } from '#projections/builds/verify.ts'
import type { IndexAudit, Part } from '#projections/index-audit.ts'
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
  let now: number
  beforeEach(() => {
    stream = createMemoryStream({ partition: '0' })
    store = createMemoryIndexStore()
    context = memoryContext({ stream, projections: [counting] }, store)
    sent = 0
    now = Date.now()
  })
  const send = async (from: number, line: string): Promise<Position> =>
    (await stream.append([lineEvent(from + sent++, [line])])).last

  type Given = Readonly<{ at: Position; said: Position; holdsLate?: boolean; onPause?: (n: number) => Promise<void> }>
  /** What the index says while its projector runs. */
  const say = (position: Position): Promise<void> =>
    store.writer.heartbeat(index, { position, head: position, at: now, caughtUpAt: now })
  /** The day before is as far as `at`, though only `said` is said; the other day is in no file, or as far as was said. */
  async function verdictOf({ at, said, holdsLate = false, onPause = () => say(at) }: Given) {
    const isThere = (part: Part): boolean => holdsLate || part.day === dayBefore
    const freeze: IndexAudit['freeze'] = async (of, part) => {
      if (!isThere(part)) return store.audit.freeze(of, { ...part, day: '2026-01-01' })
      return { ...(await store.audit.freeze(of, part)), position: part.day === dayBefore ? at : said }
    }
    const parts: IndexAudit['parts'] = async (of) => (await store.audit.parts(of)).filter(isThere)
    const builds: IndexWriter['builds'] = async (projection) =>
      (await store.writer.builds(projection)).map((build) => ({ ...build, checkpoint: said }))
    let waits = 0
    const seen: BuildContext = {
      ...context,
      clock: () => now,
      timers: {
        ...context.timers,
        pause: () => (++waits > 100 ? Promise.reject(new Error('it waits on and on')) : onPause(waits)),
      },
      index: {
        ...context.index,
        writer: () => ({ ...store.writer, builds }),
        audit: () => ({ ...store.audit, freeze, parts }),
      },
    }
    const [verdict] = await verify(seen, await liveBuilds(seen, ['counting']))
    return { verdict: verdict as Verdict, waits }
  }

  it('does not wait for another day of which nothing needs to be there yet', async () => {
    const said = await send(early, 'one')
    await send(late, 'two')
    const at = await send(early, 'one')
    await foldLive(context)
    const { verdict, waits } = await verdictOf({ at, said })
    expect(verdict.differences).to.deep.equal([])
    expect([verdict.equal, waits]).to.deep.equal([true, 0])
  })

  it('names what is missing of a day that must be there, once the index has said that it is that far', async () => {
    await send(early, 'one')
    const said = await send(late, 'two')
    await send(late, 'two')
    const at = await send(early, 'one')
    await foldLive(context)
    const { verdict, waits } = await verdictOf({ at, said })
    expect([verdict.equal, waits]).to.deep.equal([false, 1])
    expect(new Set(verdict.differences.map(({ day }) => day))).to.deep.equal(new Set([dayAfter]))
    expect(verdict.differences.map(({ id }) => id)).to.include('two')
  })

  it('tells of a workspace up to where all of its days were compared', async () => {
    await send(early, 'one')
    const said = await send(late, 'two')
    const at = await send(early, 'one')
    await foldLive(context)
    const { verdict } = await verdictOf({ at, said, holdsLate: true })
    expect(verdict).to.include({ equal: true, position: at })
    expect(verdict.workspaces.map(({ position }) => position)).to.deep.equal([said])
  })

  describe('waits for it', () => {
    let places: Position[]
    beforeEach(async () => {
      places = [await send(late, 'two')]
      for (let n = 0; n < 4; n++) places.push(await send(early, 'one'))
      await foldLive(context)
    })
    const given = (onPause: (n: number) => Promise<void>): Given => ({
      at: places.at(-1) ?? 0,
      said: places[0] ?? 0,
      onPause,
    })

    it('as long as the index gets on, however slowly', async () => {
      const { waits, verdict } = await verdictOf(
        given(async (n) => {
          now += 29_000
          await say(places[n] ?? 0)
        }),
      )
      expect([waits, verdict.equal]).to.deep.equal([4, false])
    })

    it('and gives up where it does not', async () => {
      const failure: unknown = await verdictOf(
        given(async () => {
          now += 10_000
          await say(places[1] ?? 0)
        }),
      ).catch((error: unknown) => error)
      expect(String(failure)).to.match(/verify counting-v1-001 at position \d+ .*its projector does not get on/)
    })
  })
})
