import { expect } from 'chai'
import { readUsage } from '#projections/allowance/query.ts'
import { buildName } from '#projections/rosters/build-name.ts'
import { projections } from '#projections/registry.ts'
import { rebuild } from '#projections/builds/rebuild.ts'
import { liveBuilds, verify, type Verdict } from '#projections/builds/verify.ts'
import { beginLedgers } from '#src/ingest/begin-ledgers.ts'
import { createMonthLedger } from '#src/ingest/ledger.ts'
import { systemTimers } from '#src/lib/timers.ts'
import { sealClosing, sealLedgerEvent } from '#src/events/allowance.ts'
import { dayOf } from '#src/lib/day.ts'
import { firstDayBy, type FirstDay } from '#projections/retention/first-days.ts'
import type { IndexAudit } from '#projections/index-audit.ts'
import type { IndexWriter } from '#projections/index-store.ts'
import type { Stream } from '#streams/stream.ts'
import { readAll } from '#test/support/read-all.ts'
import {
  ago,
  createWorld,
  daysHeld,
  daysShown,
  eventsOn,
  free,
  memoryPlace,
  pro,
  sqlitePlace,
  today,
  type Place,
  type World,
} from '#test/support/retention-world.ts'

const month = '2026-11'
const holder = 'process-1'
const newId = (): string => 'f'.repeat(32)

const ledgersOf = (world: World, stream: Stream = world.stream) => ({ stream, clock: world.clock, holder, newId })

/** How the ledgers of the month stand, for a process that starts now; and how much of the log it has read for that. */
async function ledgersForNewcomer(world: World) {
  let reads = 0
  const stream: Stream = {
    ...world.stream,
    read: (...asked) => {
      reads++
      return world.stream.read(...asked)
    },
  }
  const ledgers = ledgersOf(world, stream)
  await beginLedgers(ledgers)
  const standing = await Promise.all(
    [free, pro].map(
      async (workspaceId) =>
        (await createMonthLedger({ ...ledgers, timers: systemTimers }, workspaceId, month).read()).spent,
    ),
  )
  return { standing, reads }
}

const verifyAll = async ({ context }: World): Promise<readonly Verdict[]> =>
  verify(context, await liveBuilds(context, ['traces', 'logs', 'correlation', 'allowance']))

function expectEqual(verdicts: readonly Verdict[]): void {
  expect(verdicts.map(({ projection }) => projection)).to.have.length(4)
  for (const verdict of verdicts) {
    expect(verdict.differences, verdict.projection).to.deep.equal([])
    expect(verdict.equal).to.equal(true)
    const entries = verdict.workspaces.reduce((sum, of) => sum + of.entries, 0)
    expect(entries, `${verdict.projection} was compared`).to.be.greaterThan(10)
  }
}

/** What must hold at the end of a life of sixty days, however retention came about. */
async function expectRetained(
  world: World,
  { build = 1, usageFrom = ago(39) }: Readonly<{ build?: number; usageFrom?: string }> = {},
): Promise<void> {
  const index = (name: string): string => buildNamed(name, build)
  const { lived } = world
  expect(await daysShown(world, free)).to.deep.equal(lived(ago(7)))
  expect(await daysShown(world, pro)).to.deep.equal(lived(ago(30)))
  // A day more than is seen.
  for (const name of ['logs', 'traces', 'correlation']) {
    expect(await daysHeld(world, index(name), free), name).to.deep.equal(lived(ago(8)))
    expect(await daysHeld(world, index(name), pro), name).to.deep.equal(lived(ago(31)))
  }
  // Usage is told of the month, whatever the plan.
  for (const workspaceId of [free, pro]) {
    expect(await daysHeld(world, index('allowance'), workspaceId)).to.deep.equal(lived(usageFrom))
    expect((await readUsage(world.reader, workspaceId, month)).spans).to.equal(lived(`${month}-01`).length * 3)
  }
  const events = (await readAll(world.stream)).filter(({ type }) => type.endsWith('.received'))
  expect([...new Set(events.map(({ receivedAt }) => dayOf(receivedAt)))]).to.deep.equal(lived(ago(38)))
}

const buildNamed = (name: string, build = 1): string => {
  const projection = projections.find((each) => each.name === name)
  return projection === undefined ? '' : buildName(projection, build)
}

function retentionSuite(
  title: string,
  open: () => Promise<Place> | Place,
  isLived: (daysAgo: number) => boolean = () => true,
): void {
  describe(`sixty days of a free and a pro workspace: ${title}`, () => {
    let world: World

    const live = async (from: number, to: number, each: () => Promise<unknown> = async () => undefined) => {
      for (let daysAgo = from; daysAgo >= to; daysAgo--) {
        if (!isLived(daysAgo)) continue
        await world.liveOn(ago(daysAgo))
        await each()
      }
    }
    const countMonth = async (): Promise<void> => {
      for (const workspaceId of [free, pro]) {
        const entry = { month, epoch: world.stream.epoch, by: holder, ended: [], spent: 4_711, open: [] }
        const unique = workspaceId.padEnd(32, '0')
        const said = sealLedgerEvent('allowance.counted', entry, { workspaceId, at: world.clock(), unique })
        await world.stream.append([said])
      }
    }
    beforeEach(async () => {
      world = createWorld(await open())
      world.moveTo(`${ago(60)}T00:00:00Z`)
      await beginLedgers(ledgersOf(world))
    })
    afterEach(() => world.close())

    it('keeps what it must and nothing else, day by day; the month’s allowance, verify and rebuild are as ever', async () => {
      await live(60, 21, world.retain)
      // On the first of the month.
      await countMonth()
      await live(20, 0, world.retain)
      await expectRetained(world)
      expect(await ledgersForNewcomer(world)).to.deep.equal({ standing: [4_711, 4_711], reads: 0 })

      const verdicts = await verifyAll(world)
      expectEqual(verdicts)
      const [traces] = verdicts
      expect(traces?.comparedFrom).to.include({ traces: ago(38 - 8), seenEvents: ago(38 - 2) })

      // No projector has been seen for a while.
      world.moveTo(`${today}T13:00:00Z`)
      const rebuilt = await rebuild(world.context, projections)
      expect(rebuilt.map(({ outcome }) => outcome)).to.deep.equal(projections.map(() => 'moved'))
      expectEqual(rebuilt.map(({ verdict }) => verdict))
      expect(await daysShown(world, free), 'what was gone does not come back').to.deep.equal(world.lived(ago(7)))
      await world.restart()
      await world.retain()
      // What was not in the log any more is not in the new builds.
      await expectRetained(world, { build: 2, usageFrom: ago(38) })

      await world.liveOn(ago(-1))
      expect(await daysShown(world, free)).to.deep.equal(world.lived(ago(6)))
      expectEqual(await verifyAll(world))
    })

    it('does the same at once, and again after a kill at any step', async () => {
      await live(60, 21)
      await countMonth()
      await live(20, 0)
      const killed = new Error('killed')
      const refuse = async (): Promise<never> => {
        throw killed
      }
      const { stream } = world
      const halfDropped = (): IndexWriter => {
        let calls = 0
        const writer = world.writer()
        return { ...writer, dropDays: (...asked) => (++calls > 2 ? refuse() : writer.dropDays(...asked)) }
      }
      const kills: readonly Parameters<typeof world.retain>[0][] = [
        { writer: halfDropped() },
        { stream: { ...stream, cut: refuse } },
        { stream: { ...stream, append: refuse } },
      ]
      for (const kill of kills) {
        const failure = await world.retain(kill).then(
          () => undefined,
          (error: unknown) => error,
        )
        // The beginning is said anew once; then there is nothing to append.
        if (failure !== undefined) expect(failure).to.equal(killed)
        await world.restart()
        expect(await daysShown(world, free)).to.deep.equal(world.lived(ago(7)))
      }
      await world.retain()
      await expectRetained(world)
      expect((await ledgersForNewcomer(world)).standing).to.deep.equal([4_711, 4_711])
      expectEqual(await verifyAll(world))
      expect(await world.retain(), 'there is nothing left to do').to.deep.equal({
        dropped: 0,
        cutTo: undefined,
        heldBy: [],
        givenUp: [],
      })
    })

    it('drops days of builds that do not come on too, but none that what they are still to fold may reach', async () => {
      await live(40, 0)
      for (const event of eventsOn(free, ago(-1))) await world.stream.append([event])
      world.moveTo(`${ago(-60)}T12:00:00Z`)
      expect((await world.retain()).dropped).to.be.greaterThan(0)
      // By the day of receipt of the first that is not folded, not by now.
      expect(await daysHeld(world, buildNamed('logs'), free)).to.deep.equal(world.lived(ago(7)))
      await world.fold()
      await world.retain()
      expect(await daysHeld(world, buildNamed('logs'), free)).to.deep.equal([])
    })

    it('a day ends at midnight, UTC', async () => {
      await live(40, 0, world.retain)
      world.moveTo(`${today}T23:59:59.999Z`)
      await world.retain()
      expect((await daysShown(world, free))[0]).to.equal(ago(7))
      expect(dayOf((await world.stream.first())?.receivedAt ?? 0)).to.equal(ago(38))
      world.moveTo(`${ago(-1)}T00:00:00Z`)
      expect((await daysShown(world, free))[0], 'readers do not wait for the next turn').to.equal(ago(6))
      expect((await daysHeld(world, buildNamed('logs'), free))[0]).to.equal(ago(8))
      await world.retain()
      expect((await daysHeld(world, buildNamed('logs'), free))[0]).to.equal(ago(7))
      expect(dayOf((await world.stream.first())?.receivedAt ?? 0)).to.equal(ago(37))
    })

    it('says what is wrong on a day that is seen, and only there', async () => {
      await live(45, 0, world.retain)
      const { writer, stream } = world
      const place = { workspaceId: free, projection: 'logs', collection: 'logs' }
      const query = { filter: { kind: 'all' }, orderBy: 'timeNs', direction: 'asc', limit: 1 } as const
      const [hit] = await world.reader.search(place, query)
      // The log's first record of those that are seen, once more on another day.
      const damage = async (day: string): Promise<void> => {
        // An event that is folded into nothing, so that the batch is a later one.
        const { last: position } = await stream.append([sealClosing(day, { workspaceId: free, at: world.clock() })])
        const entry = { collection: 'logs', id: `${hit?.id}${day}`, day, document: hit?.document ?? {}, position }
        const batch = [{ workspaceId: free, entries: [entry] }]
        await writer().write(buildNamed('logs'), batch, { epoch: stream.epoch, position })
      }
      await damage(ago(8))
      expectEqual(await verifyAll(world))
      await damage(ago(7))
      const wrong = (await verifyAll(world)).filter(({ equal }) => !equal)
      expect(wrong.map(({ projection }) => projection)).to.deep.equal(['logs'])
      const places = wrong[0]?.differences.map(({ day, workspaceId }) => `${workspaceId} ${day}`)
      expect([...new Set(places)]).to.deep.equal([`${free} ${ago(7)}`])
    })

    it('what goes under a smaller plan while it is compared is not judged', async () => {
      await live(45, 0, world.retain)
      const { context } = world
      let proDays = 30
      const firstDays = async (): Promise<FirstDay> => {
        const known = proDays
        return firstDayBy(projections, (id) => ({ retentionDays: id === free ? 7 : known }), world.clock)
      }
      let isChanged = false
      const change = async (): Promise<void> => {
        if (isChanged) return
        isChanged = true
        proDays = 7
        world.setPlan(pro, 7)
        expect((await world.retain()).dropped).to.be.greaterThan(0)
      }
      const audit = (): IndexAudit => {
        const own = context.index.audit()
        const freeze: IndexAudit['freeze'] = async (...asked) => {
          await change()
          return own.freeze(...asked)
        }
        return { ...own, freeze }
      }
      const changing = { ...context, firstDays, index: { ...context.index, audit } }
      const logs = [{ projection: 'logs', index: buildNamed('logs') }]
      const [verdict] = await verify(changing, logs)
      expect([isChanged, verdict?.differences, verdict?.equal]).to.deep.equal([true, [], true])
      expect(verdict?.workspaces.map(({ entries }) => entries > 0)).to.deep.equal([true, true])
    })

    it('under a smaller plan less is seen at once, and goes', async () => {
      await live(45, 0, world.retain)
      world.setPlan(pro, 7)
      expect(await daysShown(world, pro)).to.deep.equal(world.lived(ago(7)))
    })
  })
}

retentionSuite('memory', memoryPlace)
/** Files are slow to make: the days around each boundary, and some before. */
const someDays = new Set([60, 50, 40, 39, 38, 37, 32, 31, 30, 29, 20, 14, 9, 8, 7, 6, 1, 0])
retentionSuite('SQLite', sqlitePlace, (daysAgo) => someDays.has(daysAgo))
