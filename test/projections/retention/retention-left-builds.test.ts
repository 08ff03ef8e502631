import { expect } from 'chai'
import { buildName } from '#projections/rosters/build-name.ts'
import { createDecoders } from '#projections/folding/decoders.ts'
import type { IndexName, IndexWriter } from '#projections/index-store.ts'
import type { Projection } from '#projections/projection.ts'
import { projections } from '#projections/registry.ts'
import type { Retained } from '#projections/retention/retention.ts'
import { changeRoster, followedAs, keepOn, lose, promoteTo } from '#projections/rosters/roster.ts'
import { beforeAll as beforeEvents, type Position } from '#src/events/envelope.ts'
import { limits } from '#src/config.ts'
import { dayOf } from '#src/lib/day.ts'
import { start } from '#test/support/projector-run.ts'
import { ago, createWorld, daysHeld, free, memoryPlace, type World } from '#test/support/retention-world.ts'

const logs = projections.find(({ name }) => name === 'logs') as Projection
const left: IndexName = buildName(logs, 7)

describe('what of the log a build has not had', () => {
  let world: World
  let turns: Retained[]

  const firstDay = async (): Promise<string> => dayOf((await world.stream.first())?.receivedAt ?? 0)
  const roster = () => world.writer().roster('logs')
  const heldSince = async (): Promise<number | undefined> =>
    (await roster()).followed.find(({ index }) => index === left)?.heldSinceMs
  const live = async (from: number, to: number): Promise<void> => {
    for (let daysAgo = from; daysAgo >= to; daysAgo--) {
      await world.liveOn(ago(daysAgo))
      turns.push(await world.retain())
    }
  }
  const folded = (position: Position): Promise<void> =>
    world.writer().write(left, [], { epoch: world.stream.epoch, position })
  const givenUp = (): readonly IndexName[] => turns.flatMap((turn) => turn.givenUp)

  beforeEach(async () => {
    world = createWorld(memoryPlace())
    turns = []
    await live(60, 50)
    await world.writer().open(left, logs, world.stream.epoch)
    await folded(beforeEvents)
  })
  afterEach(() => world.close())

  it('stays for two weeks where nobody folds or reads the build, and then both go', async () => {
    await live(49, 22)
    expect([await heldSince(), turns.at(-1)?.heldBy]).to.deep.equal([undefined, []])
    await live(21, 8)
    expect(await firstDay()).to.equal(ago(60))
    expect(dayOf((await heldSince()) ?? 0)).to.equal(ago(21))
    expect(turns.at(-1)).to.deep.include({ cutTo: undefined, heldBy: [left], givenUp: [] })
    await live(7, 0)
    expect(givenUp()).to.deep.equal([left])
    expect(followedAs(await roster(), left)).to.equal('dropped')
    expect([await firstDay(), turns.at(-1)?.heldBy]).to.deep.equal([ago(38), []])
  })

  it('stays for two weeks without that the days of other builds stay as well', async () => {
    for (let daysAgo = 49; daysAgo >= 10; daysAgo--) {
      await world.liveOn(ago(daysAgo))
      turns.push(await world.retain({ daysMax: 1 }))
    }
    expect([await firstDay(), turns.at(-1)?.heldBy]).to.deep.equal([ago(60), [left]])
    const { live: now = '' } = await roster()
    expect((await daysHeld(world, now, free))[0]).to.equal(ago(18))
  })

  it('does not stay for one that has had it; the two weeks begin anew where it is left again', async () => {
    await live(49, 14)
    expect(await heldSince()).to.be.a('number')
    await folded(await world.stream.head())
    turns.push(await world.retain())
    expect([await heldSince(), await firstDay()]).to.deep.equal([undefined, ago(52)])
    await live(13, 0)
    expect([givenUp(), await firstDay()]).to.deep.equal([[], ago(38)])
  })

  it('stays for one that is being folded, however slowly', async () => {
    for (let daysAgo = 49; daysAgo >= 0; daysAgo--) {
      await world.liveOn(ago(daysAgo))
      await world.writer().heartbeat(left, { position: 0, head: 1, at: world.clock(), caughtUpAt: 0 })
      turns.push(await world.retain())
    }
    expect([await firstDay(), givenUp()]).to.deep.equal([ago(60), []])
    expect(turns.at(-1)?.heldBy).to.deep.equal([left])
  })

  it('stays as long as readers use it, whoever folds it, and goes with it two weeks after they have left', async () => {
    const before = (await roster()).live
    await changeRoster(world.writer(), 'logs', promoteTo(left, before, Infinity))
    await live(49, 10)
    expect([await firstDay(), givenUp(), turns.at(-1)?.heldBy]).to.deep.equal([ago(60), [], [left]])
    if (before === undefined) throw new Error('readers had a build')
    await changeRoster(world.writer(), 'logs', promoteTo(before, left, Infinity))
    await changeRoster(world.writer(), 'logs', keepOn(left))
    await live(9, -5)
    expect(followedAs(await roster(), left)).to.equal('dropped')
    expect(await firstDay()).to.equal(ago(33))
  })

  it('goes with no regard to one that is kept of what the log has lost, which loses its days as others do', async () => {
    const { live: now = '' } = await roster()
    await changeRoster(world.writer(), 'logs', promoteTo(left, now, Infinity))
    await world.writer().heartbeat(left, { position: 0, head: 0, at: 0, caughtUpAt: 0 })
    const entry = { collection: 'logs', id: 'old', day: ago(60), document: { timestamp: '0', fields: {} }, position: 1 }
    await world
      .writer()
      .write(left, [{ workspaceId: free, entries: [entry] }], { epoch: world.stream.epoch, position: 1 })
    expect(await daysHeld(world, left, free)).to.deep.equal([ago(60)])
    await changeRoster(world.writer(), 'logs', promoteTo(now, left, Infinity))
    await changeRoster(world.writer(), 'logs', keepOn(left))
    await changeRoster(world.writer(), 'logs', lose(left))
    await live(49, 0)
    expect([await firstDay(), turns.at(-1)?.heldBy, givenUp()]).to.deep.equal([ago(38), [], []])
    expect(followedAs(await roster(), left)).to.equal('kept')
    expect(await daysHeld(world, left, free)).to.deep.equal([])
  })

  it('goes with no regard to a build of another log, which stays as it is', async () => {
    const other: IndexName = buildName(logs, 8)
    await folded(await world.stream.head())
    await world.writer().open(other, logs, 'another')
    const entry = { collection: 'logs', id: 'old', day: ago(60), document: { timestamp: '0', fields: {} }, position: 1 }
    await world.writer().write(other, [{ workspaceId: free, entries: [entry] }], { epoch: 'another', position: 1 })
    for (let daysAgo = 49; daysAgo >= 0; daysAgo--) {
      await world.liveOn(ago(daysAgo))
      await folded(await world.stream.head())
      turns.push(await world.retain())
    }
    expect([await firstDay(), turns.at(-1)?.heldBy, givenUp()]).to.deep.equal([ago(38), [], []])
    expect(await daysHeld(world, other, free)).to.deep.equal([ago(60)])
  })

  it('goes into days that stay: another process may be writing it, wherever it has come to', async () => {
    const place = { workspaceId: free, projection: 'logs', collection: 'logs' }
    const query = { filter: { kind: 'all' }, orderBy: 'timeNs', direction: 'asc', limit: 1 } as const
    const [hit] = await world.reader.search(place, query)
    const [position, epoch] = [await world.stream.head(), world.stream.epoch]
    const entry = { collection: 'logs', id: 'old', day: ago(60), document: hit?.document ?? {}, position }
    await world.writer().write(left, [{ workspaceId: free, entries: [entry] }], { epoch, position })
    await live(49, 40)
    expect(await daysHeld(world, left, free)).to.deep.equal([ago(60)])
    await folded(await world.stream.head())
    await world.retain()
    expect(await daysHeld(world, left, free)).to.deep.equal([])
  })

  it('stays whole where a projection has no build yet', async () => {
    for (let daysAgo = 49; daysAgo >= 0; daysAgo--) await world.liveOn(ago(daysAgo))
    await folded(await world.stream.head())
    const writer = world.writer()
    const builds: typeof writer.builds = async (name) => (name === 'traces' ? [] : writer.builds(name))
    expect((await world.retain({ writer: { ...writer, builds } })).cutTo).to.equal(undefined)
    expect(await firstDay()).to.equal(ago(60))
    await world.retain()
    expect(await firstDay()).to.equal(ago(38))
  })

  it('is not held by one that a projector is just opening, and which then is the projector’s', async () => {
    await folded(await world.stream.head())
    for (let daysAgo = 49; daysAgo >= 0; daysAgo--) await world.liveOn(ago(daysAgo))
    const raised: Projection = { ...logs, version: logs.version + 1 }
    const index = buildName(raised, 1)
    const writer = world.writer()
    const opening: IndexWriter = {
      ...writer,
      async open(...given) {
        await writer.open(...given)
        if (given[0] === index) turns.push(await world.retain())
      },
    }
    const decoders = createDecoders(limits)
    const run = start({ stream: world.stream, writer: opening, projections: [raised], decoders })
    await run.until((_heartbeat, folds) => folds.startsWith(`logs-v${raised.version}-`))
    await run.stop()
    expect(turns.at(-1)?.heldBy).to.include(index)
    const { live: now, followed } = await roster()
    expect([now, followed.filter((build) => build.index !== left)].flat()).to.deep.equal([
      buildName(logs, 1),
      { index, as: 'candidate' },
    ])
  })
})
