import { expect } from 'chai'
import { nextBuild } from '#projections/rosters/choose-build.ts'
import type { IndexWriter } from '#projections/index-store.ts'
import type { Beside } from '#projections/folding/lanes.ts'
import type { ProjectionFailure } from '#projections/folding/open-lanes.ts'
import type { Projection } from '#projections/projection.ts'
import { begin, changeRoster, claim, forget, giveUp, keepOn, nominate, promoteTo } from '#projections/rosters/roster.ts'
import { withSeenEvents } from '#projections/folding/seen-events.ts'
import { createMemoryIndexStore, type MemoryIndexStore } from '#projections/stores/memory/store.ts'
import { positionStep } from '#src/events/envelope.ts'
import { TransientError } from '#src/lib/failure.ts'
import { createMemoryStream } from '#streams/memory/stream.ts'
import type { Stream } from '#streams/stream.ts'
import { counting, mirror } from '#test/support/line-projections.ts'
import { append, atHead, start, totals } from '#test/support/projector-run.ts'
import { liveOf } from '#test/support/promote.ts'

const keptMs = 24 * 3_600_000
const [first, second] = ['counting-v1-001', 'counting-v1-002']
const raised: Projection = { ...counting, version: 2 }

const numbered = (count: number): readonly (readonly string[])[] =>
  Array.from({ length: count }, (_, n) => [`line ${n % 7}`])

describe('builds beside the live one', () => {
  let stream: Stream
  let store: MemoryIndexStore
  beforeEach(() => {
    stream = createMemoryStream({ partition: '0' })
    store = createMemoryIndexStore()
  })

  /** A build that nobody has folded yet, named to follow the live one. */
  const addCandidate = async (index: string): Promise<void> => {
    await store.writer.open(index, withSeenEvents(counting), stream.epoch)
    await changeRoster(store.writer, 'counting', nominate(index))
  }
  /** The writer, which calls `look` after each change of the roster. */
  const lookingAtRoster = (look: (live: string | undefined) => void): IndexWriter => ({
    ...store.writer,
    async changeRoster(projection, roster) {
      const changed = await store.writer.changeRoster(projection, roster)
      if (changed) look(roster.live)
      return changed
    },
  })

  it('are noticed while the projector runs, and readers move when they stand where the live one does', async () => {
    await append(stream, numbered(30))
    const places: unknown[] = []
    const moved = Promise.withResolvers<void>()
    const writer: IndexWriter = {
      ...store.writer,
      async changeRoster(projection, roster) {
        if (roster.live === second) {
          places.push([await store.writer.checkpoint(first), await store.writer.checkpoint(second)])
          expect(store.dump(second)).to.deep.equal(store.dump(first))
        }
        const changed = await store.writer.changeRoster(projection, roster)
        if (roster.live === second) moved.resolve()
        return changed
      },
    }
    const run = start({ stream, writer })
    await run.until(await atHead(stream))
    await addCandidate(second)
    run.tick()
    await moved.promise
    expect(places).to.have.length(1)
    const roster = await store.writer.roster('counting')
    expect(roster.followed).to.deep.equal([{ index: first, as: 'kept', untilMs: run.clock() + keptMs }])
    await run.stop()
  })

  it('never make the live one wait for them', async () => {
    await append(stream, numbered(40))
    const before = start({ stream, writer: store.writer })
    await before.until(await atHead(stream))
    await before.stop()
    await addCandidate(second)
    await append(stream, numbered(3), 100)
    const head = await stream.head()
    const after = start({ stream, writer: store.writer })
    await after.until(({ position }, index) => index === first && position >= head)
    expect((await store.writer.checkpoint(second)).position).to.be.below(head)
    await after.until(({ position }, index) => index === second && position >= head)
    await after.stop()
    expect(store.dump(second)).to.deep.equal(store.dump(first))
  })

  it('become the live one also while the log never rests', async () => {
    // So many that they do not meet by chance: the one behind must stop where the live one stands.
    await append(stream, numbered(22))
    const before = start({ stream, writer: store.writer })
    await before.until(await atHead(stream))
    await before.stop()
    await addCandidate(second)
    let n = 100
    const moved = Promise.withResolvers<unknown>()
    const places = () => Promise.all([first, second].map((index) => store.writer.checkpoint(index)))
    const writer: IndexWriter = {
      ...lookingAtRoster((live) => live === second && moved.resolve(places())),
      async write(...given) {
        // Something comes between the readings of any two groups.
        if (n < 200) await append(stream, [['more']], n++)
        await store.writer.write(...given)
      },
    }
    await append(stream, [['more']], 99)
    const after = start({ stream, writer })
    const [left, taken] = (await moved.promise) as readonly unknown[]
    expect(taken).to.deep.equal(left)
    expect(n).to.be.below(200)
    await after.stop()
  })

  it('are folded on when readers have left them, for as long as they are kept, and go then', async () => {
    await append(stream, numbered(5))
    const run = start({ stream, writer: store.writer })
    await run.until(await atHead(stream))
    await run.stop()
    await addCandidate(second)
    const untilMs = 1_002_000
    await changeRoster(store.writer, 'counting', promoteTo(second, first, untilMs))
    const again = start({ stream, writer: store.writer })
    await append(stream, numbered(5), 50)
    const head = await stream.head()
    const atEnd = [first, second].map((name) =>
      again.until(({ position }, index) => index === name && position >= head),
    )
    await Promise.all(atEnd)
    expect(store.dump(first)).to.deep.equal(store.dump(second))
    again.tick()
    await again.until(({ at }) => at === untilMs - 1_000)
    expect((await store.writer.builds('counting')).map(({ index }) => index)).to.include(first)
    again.tick()
    await again.until(({ at }) => at === untilMs)
    expect((await store.writer.builds('counting')).map(({ index }) => index)).to.deep.equal([second])
    expect((await store.writer.roster('counting')).followed).to.deep.equal([{ index: first, as: 'gone' }])
    await again.stop()
  })

  it('take readers back to them in one step, as fresh as the one that is left', async () => {
    await append(stream, numbered(6))
    const moves: (string | undefined)[] = []
    const run = start({ stream, writer: lookingAtRoster((live) => moves.push(live)) })
    await run.until(await atHead(stream))
    await addCandidate(second)
    run.tick()
    await run.until(({ position }, index) => index === second && position >= 6 * 4096)
    run.tick()
    await run.until(({ at }) => at >= 1_002_000)
    expect(await liveOf(store.writer, 'counting')).to.equal(second)
    await append(stream, [['fresh']], 60)
    await run.until(await atHead(stream))
    await changeRoster(store.writer, 'counting', nominate(first))
    run.tick()
    await run.until(({ at }) => at >= 1_003_000)
    expect(await liveOf(store.writer, 'counting')).to.equal(first)
    expect(await totals(store.reader)).to.include({ fresh: 1 })
    expect((await store.writer.builds('counting')).map(({ index }) => index)).to.deep.equal([first, second])
    expect(moves.filter((live, at) => live !== moves[at - 1])).to.deep.equal([first, second, first])
    await run.stop()
  })

  it('do not take readers back when another projector has folded the live one further', async () => {
    await append(stream, numbered(4))
    const before = start({ stream, writer: store.writer })
    await before.until(await atHead(stream))
    await before.stop()
    await addCandidate(second)
    // It began when the live build was not made yet: its lane knows nothing of what another has folded into it.
    const behind: IndexWriter = {
      ...store.writer,
      checkpoint: async (index) => ({ ...(await store.writer.checkpoint(index)), position: 0 }),
    }
    const positions: number[] = []
    const writer: IndexWriter = {
      ...behind,
      heartbeat: async (index, progress) => {
        // The other one's are those that readers see.
        if (index !== first) await store.writer.heartbeat(index, progress)
      },
      async changeRoster(projection, roster) {
        if (roster.live === second) positions.push((await store.writer.checkpoint(second)).position)
        return store.writer.changeRoster(projection, roster)
      },
    }
    const oneByOne: Stream = { ...stream, read: (after) => stream.read(after, 1) }
    const run = start({ stream: oneByOne, writer })
    await run.until((_heartbeat, index) => index === second && positions.length > 0)
    expect(positions).to.deep.equal([await stream.head()])
    await run.stop()
  })

  it('do not get readers before they hold what who folded before this process may have written', async () => {
    await append(stream, numbered(30))
    await store.writer.open(first, withSeenEvents(counting), stream.epoch)
    await changeRoster(store.writer, 'counting', nominate(first))
    await addCandidate(second)
    const moved = Promise.withResolvers<number>()
    const writer = lookingAtRoster((live) => {
      if (live === second) void store.writer.checkpoint(second).then(({ position }) => moved.resolve(position))
    })
    const run = start({ stream, writer })
    expect(await moved.promise).to.equal(await stream.head())
    await run.stop()
  })

  it('never come a second time under one name, nor are read or folded under that of one that went', async () => {
    const change = (next: Parameters<typeof changeRoster>[2]) => changeRoster(store.writer, 'counting', next)
    const go = async (index: string): Promise<void> => {
      for (const next of [begin, giveUp, forget]) expect(await change(next(index))).to.include({ changed: true })
    }
    await change(nominate(first))
    await go(second)
    for (const next of [begin, nominate, claim]) expect(await change(next(second))).to.include({ changed: false })
    expect(await change(promoteTo(second, first, 2_000_000))).to.include({ changed: false })
    expect(await nextBuild(store.writer, counting)).to.equal('counting-v1-003')
    await go('counting-v2-001')
    await go('counting-v1-010')
    // The last of a version stands for those before it.
    expect(await change(begin('counting-v1-009'))).to.include({ changed: false })
    const gone = ['counting-v2-001', 'counting-v1-010'].map((index) => ({ index, as: 'gone' }) as const)
    expect((await store.writer.roster('counting')).followed).to.deep.equal(gone)
    expect(await nextBuild(store.writer, counting)).to.equal('counting-v1-011')
  })

  it('are not taken back while they are being removed', async () => {
    await changeRoster(store.writer, 'counting', nominate(first))
    await addCandidate(second)
    await changeRoster(store.writer, 'counting', giveUp(second))
    for (const change of [nominate(second), promoteTo(second, first, 2_000_000)]) {
      expect(await changeRoster(store.writer, 'counting', change)).to.include({ changed: false })
    }
  })

  it('are not begun by a rebuild under the name of one that a projector has taken', async () => {
    await changeRoster(store.writer, 'counting', nominate(first))
    expect(await changeRoster(store.writer, 'counting', begin(first))).to.deep.include({ changed: false })
    await changeRoster(store.writer, 'counting', nominate(second))
    expect(await changeRoster(store.writer, 'counting', begin(second))).to.deep.include({ changed: false })
  })

  it('are kept one at a time, but for those that somebody keeps', async () => {
    const names = [1, 2, 3, 4].map((build) => `counting-v1-00${build}`)
    const [a = '', b = '', c = '', d = ''] = names
    for (const name of names) await store.writer.open(name, withSeenEvents(counting), stream.epoch)
    const change = (next: Parameters<typeof changeRoster>[2]) => changeRoster(store.writer, 'counting', next)
    await change(nominate(a))
    await change(promoteTo(b, a, 2_000_000))
    await change(keepOn(a))
    await change(promoteTo(c, b, 2_000_000))
    // Whoever compared with a build that readers have left since does not move them.
    expect(await change(promoteTo(d, b, 2_000_000))).to.deep.include({ changed: false })
    await change(promoteTo(d, c, 2_000_000))
    expect(await store.writer.roster('counting')).to.deep.include({
      live: d,
      followed: [
        { index: a, as: 'kept' },
        { index: b, as: 'dropped' },
        { index: c, as: 'kept', untilMs: 2_000_000 },
      ],
    })
    await append(stream, numbered(2))
    const run = start({ stream, writer: store.writer })
    await run.until(await atHead(stream))
    expect((await store.writer.builds('counting')).map(({ index }) => index)).to.deep.equal([a, c, d])
    await run.stop()
  })

  it('are let go and removed, once, when they are given up', async () => {
    await append(stream, numbered(6))
    const dropped: string[] = []
    const writer: IndexWriter = {
      ...store.writer,
      async drop(index) {
        dropped.push(index)
        await store.writer.drop(index)
      },
    }
    const run = start({ stream, writer })
    await run.until(await atHead(stream))
    await addCandidate(second)
    run.tick()
    await run.until(({ at }, index) => index === second && at >= 1_001_000)
    await changeRoster(store.writer, 'counting', giveUp(second))
    for (const until of [1_002_000, 1_003_000, 1_004_000]) {
      run.tick()
      await run.until(({ at }) => at >= until)
    }
    expect(dropped).to.deep.equal([second])
    expect((await store.writer.builds('counting')).map(({ index }) => index)).to.deep.equal([first])
    const followed = [{ index: second, as: 'gone' }]
    expect(await store.writer.roster('counting')).to.deep.include({ live: first, followed })
    await run.stop()
  })

  it('that cannot be removed for now are let go, hold up nobody, and are removed when they can be', async () => {
    await append(stream, numbered(6))
    let isHeld = true
    const writer: IndexWriter = {
      ...store.writer,
      async drop(index) {
        if (isHeld) throw new TransientError({ operation: 'drop', subject: index })
        await store.writer.drop(index)
      },
    }
    const failures: ProjectionFailure[] = []
    const run = start({ stream, writer, failures })
    await run.until(await atHead(stream))
    await addCandidate(second)
    run.tick()
    await run.until(({ at }, index) => index === second && at >= 1_001_000)
    await changeRoster(store.writer, 'counting', giveUp(second))
    run.tick()
    await run.until(({ at }, index) => index === first && at >= 1_002_000)
    await append(stream, numbered(2), 50)
    await run.until(await atHead(stream))
    expect(failures.map(({ projection, error, retried }) => [projection, String(error), retried])).to.deep.equal([
      ['counting', `TransientError: drop ${second}`, true],
    ])
    isHeld = false
    run.tick()
    await run.until(({ at }) => at >= 1_003_000)
    expect((await store.writer.builds('counting')).map(({ index }) => index)).to.deep.equal([first])
    await run.stop()
  })

  it('are let go where another process has removed them', async () => {
    await append(stream, numbered(6))
    const before = start({ stream, writer: store.writer })
    await before.until(await atHead(stream))
    await before.stop()
    await addCandidate(second)
    await changeRoster(store.writer, 'counting', promoteTo(second, first, 2_000_000))
    const failures: ProjectionFailure[] = []
    const run = start({ stream, writer: store.writer, failures })
    await run.until(({ position }, index) => index === second && position >= 6 * positionStep)
    await changeRoster(store.writer, 'counting', giveUp(first))
    await store.writer.drop(first)
    await changeRoster(store.writer, 'counting', forget(first))
    run.tick()
    await run.until(({ at }, index) => index === second && at >= 1_001_000)
    await append(stream, numbered(2), 50)
    await run.until(await atHead(stream))
    expect([failures, (await store.writer.builds('counting')).map(({ index }) => index)]).to.deep.equal([[], [second]])
    await run.stop()
  })

  it('of a raised version are folded beside the old one, which answers until they have caught up', async () => {
    await append(stream, numbered(12))
    const before = start({ stream, writer: store.writer })
    await before.until(await atHead(stream))
    await before.stop()
    const former = await store.writer.checkpoint(first)
    await append(stream, numbered(1), 90)
    const lives: (string | undefined)[] = []
    const moved = Promise.withResolvers<void>()
    const writer: IndexWriter = {
      ...lookingAtRoster((live) => live === 'counting-v2-001' && moved.resolve()),
      async write(...given) {
        lives.push(await liveOf(store.writer, 'counting'))
        await store.writer.write(...given)
      },
    }
    const besides: Beside[] = []
    const after = start({ stream, writer, projections: [raised, mirror], besides })
    await moved.promise
    expect(new Set(lives)).to.deep.equal(new Set([first]))
    const total = Object.values(await totals(store.reader)).reduce((sum, lines) => sum + lines, 0)
    expect(total).to.equal(13)
    const { followed } = await store.writer.roster('counting')
    expect(followed).to.deep.equal([{ index: first, as: 'kept', untilMs: after.clock() + keptMs }])
    await append(stream, numbered(1), 91)
    await after.until(await atHead(stream))
    await after.stop()
    // Only the program of its version folds it.
    expect(await store.writer.checkpoint(first)).to.deep.equal(former)
    const beside = { projection: 'counting', index: 'counting-v2-001', live: first }
    expect(besides).to.deep.equal([
      { ...beside, moved: false },
      { ...beside, moved: true },
    ])
  })

  it('of a version between are removed when readers move to a later one, and one of a later version stays', async () => {
    await append(stream, numbered(6))
    const before = start({ stream, writer: store.writer })
    await before.until(await atHead(stream))
    await before.stop()
    // An upgrade that was given up before it had caught up, and the next one.
    for (const version of [2, 4]) await addCandidate(`counting-v${version}-001`)
    const third: Projection = { ...counting, version: 3 }
    const moved = Promise.withResolvers<void>()
    const writer = lookingAtRoster((live) => live === 'counting-v3-001' && moved.resolve())
    const run = start({ stream, writer, projections: [third, mirror] })
    await moved.promise
    run.tick()
    await run.until(({ at }, index) => index === 'counting-v3-001' && at >= 1_001_000)
    const names = (await store.writer.builds('counting')).map(({ index }) => index)
    expect(names).to.deep.equal([first, 'counting-v3-001', 'counting-v4-001'])
    const { live, followed } = await store.writer.roster('counting')
    expect([live, followed.map(({ index, as }) => [index, as])]).to.deep.equal([
      'counting-v3-001',
      [
        ['counting-v4-001', 'candidate'],
        [first, 'kept'],
        ['counting-v2-001', 'gone'],
      ],
    ])
    await run.stop()
  })

  it('of a later version stop an earlier program, which says so and leaves them alone', async () => {
    await append(stream, numbered(3))
    const newer = start({ stream, writer: store.writer, projections: [raised] })
    await newer.until(await atHead(stream))
    await newer.stop()
    const failures: ProjectionFailure[] = []
    const older = start({ stream, writer: store.writer, projections: [counting, mirror], failures })
    await older.until((_heartbeat, index) => index.startsWith('mirror'))
    expect(failures.map(({ projection, retried }) => [projection, retried])).to.deep.equal([['counting', false]])
    expect(String(failures[0]?.error)).to.match(
      /fold counting-v2-001 \(this program folds version 1 of counting: start the newer program/,
    )
    expect(await liveOf(store.writer, 'counting')).to.equal('counting-v2-001')
    expect((await store.writer.builds('counting')).map(({ index }) => index)).to.deep.equal(['counting-v2-001'])
    await older.stop()
  })
})
