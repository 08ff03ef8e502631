import { expect } from 'chai'
import type { BuildContext } from '#projections/builds/build-place.ts'
import type { IndexAudit } from '#projections/index-audit.ts'
import type { IndexWriter, Roster } from '#projections/index-store.ts'
import { moveReaders } from '#projections/builds/move-readers.ts'
import { isBack, rollBack } from '#projections/builds/roll-back.ts'
import { planRebuild, rebuild, type RebuildOptions } from '#projections/builds/rebuild.ts'
import { begin, changeRoster, giveUp, nominate, promoteTo } from '#projections/rosters/roster.ts'
import { withSeenEvents } from '#projections/folding/seen-events.ts'
import { liveBuilds, verify } from '#projections/builds/verify.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import { present } from '#src/lib/assert.ts'
import { PermanentError } from '#src/lib/failure.ts'
import type { Stream } from '#streams/stream.ts'
import { buildPlaces, foldedPlace, type Place } from '#test/support/build-places.ts'
import { counting } from '#test/support/line-projections.ts'
import { atHead, start, untilAtRest } from '#test/support/projector-run.ts'
import { liveOf } from '#test/support/promote.ts'
import { rejection } from '#test/support/read-all.ts'
import { appendRandom, workspaces } from '#test/support/random-log.ts'

const inMemory = present(buildPlaces['memory'], 'a place in memory')

describe('a rebuild, whatever was left of another', () => {
  const [first, second] = ['counting-v1-001', 'counting-v1-002'] as const
  const other = workspaceIdOf('other')
  let stream: Stream
  let place: Place
  let context: BuildContext
  beforeEach(async () => {
    ;({ stream, place, context } = await foldedPlace(inMemory, 90))
  })
  afterEach(() => place.remove())

  it('leaves readers where they are, and removes its build, where that is not the fold of the log', async () => {
    const rosters: Roster[] = []
    const writer = (): IndexWriter => ({
      ...place.writer(),
      changeRoster: async (projection, roster) => (
        rosters.push(roster),
        place.writer().changeRoster(projection, roster)
      ),
    })
    const fold: BuildContext['index']['fold'] = (tasks, ...more) =>
      context.index.fold(
        tasks.map((task) => ({ ...task, workspaces: [other] })),
        ...more,
      )
    const [done] = await rebuild({ ...context, index: { ...context.index, writer, fold } }, [counting])
    expect([done?.outcome, done?.verdict.equal]).to.deep.equal(['different', false])
    const shown = rosters.flatMap(({ live, followed }) => [live, ...followed.map(({ as }) => as)])
    for (const seen of [second, 'candidate']) expect(shown).to.not.include(seen)
    expect((await place.writer().builds('counting')).map(({ index }) => index)).to.deep.equal([first])
  })

  it('of one workspace takes nothing over of that one', async () => {
    const position = 4096
    const document = { name: 'forged', lines: 1 }
    const forged = { collection: 'counters', id: 'forged', day: '2026-11-21', document, position, created: position }
    await place.writer().write(first, [{ workspaceId: other, entries: [forged] }], { epoch: stream.epoch, position })
    const [before] = await verify(context, await liveBuilds(context, ['counting']))
    expect(before?.equal).to.equal(false)
    const [done] = await rebuild(context, [counting], { workspaceId: other })
    expect(done?.outcome).to.equal('moved')
  })

  it('of one workspace misses nothing of the others that is folded while they are copied', async () => {
    let copies = 0
    const audit = (): IndexAudit => ({
      ...context.index.audit(),
      async copy(...given) {
        await context.index.audit().copy(...given)
        if (copies++ > 0) return
        await appendRandom(stream, 300, 330)
        const run = start({ stream, writer: place.writer() })
        await run.until(await atHead(stream))
        await run.stop()
      },
    })
    await rebuild({ ...context, index: { ...context.index, audit } }, [counting], { workspaceId: other })
    expect(copies).to.be.above(1)
    const [verdict] = await verify(context, await liveBuilds(context, ['counting']))
    const compared = verdict?.workspaces.map(({ workspaceId }) => workspaceId).toSorted()
    expect([verdict?.equal, compared]).to.deep.equal([true, workspaces])
  })

  /** By the clock of a projector, which tells of itself in each pause. */
  function timedBy(run: ReturnType<typeof start>) {
    let pauses = 0
    const pause = async (): Promise<void> => {
      if (pauses++ === 1_000) throw new Error('readers stay where they are')
      const told = run.until(({ at }) => at >= run.clock())
      run.tick()
      await told
    }
    const timed: BuildContext = { ...context, clock: run.clock, timers: { ...context.timers, pause } }
    return { context: timed, pauses: () => pauses }
  }

  it('gets its build readers where they had been there meanwhile, and have moved on', async () => {
    const writer = place.writer()
    const run = start({ stream, writer })
    await run.until(await atHead(stream))
    await writer.open(second, withSeenEvents(counting), stream.epoch)
    let asked = 0
    // Between its nomination and the look at what has become of it.
    const roster: IndexWriter['roster'] = async (projection) => {
      if (asked++ === 2) {
        await changeRoster(writer, projection, promoteTo(second, first, Infinity))
        await changeRoster(writer, projection, promoteTo(first, second, Infinity))
      }
      return writer.roster(projection)
    }
    const timed = timedBy(run)
    expect(await moveReaders(timed.context, { ...writer, roster }, counting, second)).to.equal('moved')
    expect(timed.pauses(), 'the projector moves them').above(0)
    await run.stop()
  })

  it('leaves it to a projector that has begun while the last of the log was folded to move readers', async () => {
    const writer = place.writer()
    await writer.open(second, withSeenEvents(counting), stream.epoch)
    const begun = async (): Promise<void> => {
      const [position, at] = [await stream.head(), context.clock()]
      await writer.heartbeat(first, { position, head: position, at, caughtUpAt: at })
    }
    const fold: BuildContext['index']['fold'] = async (...given) => {
      await context.index.fold(...given)
      await begun()
    }
    let pauses = 0
    const pause = async (): Promise<void> => {
      expect(await liveOf(writer, 'counting')).to.equal(first)
      if (pauses++ === 1) await changeRoster(writer, 'counting', promoteTo(second, first, Infinity))
    }
    const beside = { ...context, index: { ...context.index, fold }, timers: { ...context.timers, pause } }
    expect(await moveReaders(beside, writer, counting, second)).to.equal('moved')
    expect(pauses).to.equal(2)
  })

  it('has moved readers also where they went on as soon as it had', async () => {
    const writer = place.writer()
    await writer.open(second, withSeenEvents(counting), stream.epoch)
    let moves = 0
    const changed: IndexWriter['changeRoster'] = async (projection, roster) => {
      const isChanged = await writer.changeRoster(projection, roster)
      if (roster.live === second && moves++ === 0)
        await changeRoster(writer, projection, promoteTo(first, second, Infinity))
      return isChanged
    }
    expect(await moveReaders(context, { ...writer, changeRoster: changed }, counting, second)).to.equal('moved')
    expect(await liveOf(writer, 'counting'), 'it does not turn them round').to.equal(first)
  })

  it('leaves a build that is given up meanwhile to who removes it, which lets go of it first', async () => {
    const writer = place.writer()
    await writer.open(second, withSeenEvents(counting), stream.epoch)
    let asked = 0
    const roster: IndexWriter['roster'] = async (projection) => {
      // Between its nomination and the look at what has become of it.
      if (asked++ === 2) await changeRoster(writer, projection, giveUp(second))
      if (asked === 100) throw new Error('it asks without end')
      return writer.roster(projection)
    }
    const failure = await rejection(moveReaders(context, { ...writer, roster }, counting, second))
    expect(failure.message).to.match(/move readers to counting-v1-002.*it was dropped meanwhile/)
    expect((await writer.builds('counting')).map(({ index }) => index)).to.deep.equal([first, second])
    expect(await liveOf(writer, 'counting')).to.equal(first)
  })

  it('can be undone while a projector of this program folds', async () => {
    const run = start({ stream, writer: place.writer() })
    await run.until(await atHead(stream))
    const timed = timedBy(run).context
    const [done] = await rebuild(timed, [counting])
    expect([done?.outcome, await liveOf(place.writer(), 'counting')]).to.deep.equal(['moved', second])
    expect(await rollBack(timed, counting)).to.deep.equal({ index: first, former: second })
    expect(await liveOf(place.writer(), 'counting')).to.equal(first)
    await run.stop()
  })

  it('is undone by a way back that goes on where it was broken off, not by one to a build before that', async () => {
    await rebuild(context, [counting], { keep: true })
    await rebuild(context, [counting])
    const writer = place.writer()
    await changeRoster(writer, 'counting', nominate(second))
    expect(await isBack(context, counting)).to.equal(false)
    expect(await rollBack(context, counting)).to.deep.equal({ index: second, former: 'counting-v1-003' })
    expect(await liveOf(writer, 'counting')).to.equal(second)
  })

  it('is not undone while readers are about to move to yet another build: they would not stay', async () => {
    await rebuild(context, [counting])
    const [third, writer] = ['counting-v1-003', place.writer()]
    await writer.open(third, withSeenEvents(counting), stream.epoch)
    await changeRoster(writer, 'counting', nominate(third))
    expect((await rejection(rollBack(context, counting))).message).to.match(
      /readers are about to move to counting-v1-003: .*drop/,
    )
    // As where that is decided between the look and the nomination.
    const decided = { index: first, former: second }
    expect((await rejection(rollBack(context, counting, decided))).message).to.match(/about to move to counting-v1-003/)
    const { live, followed } = await writer.roster('counting')
    expect([live, followed.map(({ index, as }) => [index, as])]).to.deep.equal([
      second,
      [
        [first, 'kept'],
        [third, 'candidate'],
      ],
    ])
  })

  it('takes the place of the build of one that was broken off before readers had moved: they do not go back to it', async () => {
    const writer = place.writer()
    await writer.open(second, withSeenEvents(counting), stream.epoch)
    await changeRoster(writer, 'counting', nominate(second))
    const [done] = await rebuild(context, [counting])
    expect(done).to.include({ index: 'counting-v1-003', former: first, outcome: 'moved' })
    const run = start({ stream, writer })
    await untilAtRest(stream, run)
    await run.stop()
    const { live, followed } = await writer.roster('counting')
    expect([live, followed.map(({ index, as }) => [index, as])]).to.deep.equal([
      'counting-v1-003',
      [
        [first, 'kept'],
        [second, 'gone'],
      ],
    ])
  })

  it('is not undone where what the build before lacks cannot be folded', async () => {
    await rebuild(context, [counting])
    await appendRandom(stream, 300, 330)
    const failure = new PermanentError({ operation: 'fold', subject: 'a share' })
    const index: BuildContext['index'] = { ...context.index, fold: () => Promise.reject(failure) }
    expect(await rejection(rollBack({ ...context, index }, counting))).to.equal(failure)
    expect(await liveOf(place.writer(), 'counting')).to.equal(second)
  })

  it('goes on only with a build that was begun alike, of this log', async () => {
    const after = 60 * 4096
    const resumes = async (
      of: RebuildOptions,
      begun: { after?: number; epoch?: string; workspaceId?: typeof other },
    ) => {
      const writer = place.writer()
      await writer.open(second, counting, begun.epoch ?? stream.epoch, begun.after)
      await changeRoster(writer, 'counting', begin(second, begun.workspaceId))
      const [plan] = await planRebuild(context, [counting], of)
      await writer.drop(second)
      const roster = await writer.roster('counting')
      await writer.changeRoster('counting', { ...roster, followed: [] })
      return plan?.resumes
    }
    expect(await resumes({}, {})).to.equal(true)
    expect(await resumes({}, { workspaceId: other }), 'of one workspace').to.equal(false)
    expect(await resumes({ workspaceId: other }, {}), 'of all').to.equal(false)
    expect(await resumes({}, { epoch: 'another' }), 'of another log').to.equal(false)
    expect(await resumes({}, { after }), 'begun later').to.equal(false)
    expect(await resumes({ from: after }, { after })).to.equal(true)
  })
})
