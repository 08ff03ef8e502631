import { expect } from 'chai'
import { buildName } from '#projections/rosters/build-name.ts'
import { logsProjection } from '#projections/logs/fold.ts'
import { rebuild } from '#projections/builds/rebuild.ts'
import { projections } from '#projections/registry.ts'
import { changeRoster, type Change } from '#projections/rosters/roster.ts'
import type { Retained } from '#projections/retention/retention.ts'
import { limits } from '#src/config.ts'
import { sealBeginning } from '#src/events/allowance.ts'
import { positionStep } from '#src/events/envelope.ts'
import { dayOf } from '#src/lib/day.ts'
import {
  ago,
  createWorld,
  daysHeld,
  daysShown,
  free,
  memoryPlace,
  pro,
  sqlitePlace,
  today,
  type Place,
  type World,
} from '#test/support/retention-world.ts'

const hourMs = 3_600_000
const noon = Date.parse(`${today}T12:00:00Z`)

for (const [name, openPlace] of [
  ['memory', async () => memoryPlace()],
  ['SQLite', sqlitePlace],
] as const satisfies readonly (readonly [string, () => Promise<Place>])[]) {
  describe(`retention by a clock that is far ahead (${name})`, () => {
    let world: World
    let pauses: { ms: number; end(): void }[]
    let turns: Retained[]
    let waits: (readonly [last: number, until: number])[]
    let onStep: () => void
    let stop: () => void

    const firstDay = async (): Promise<string> => dayOf((await world.stream.first())?.receivedAt ?? 0)
    /** Until it waits for the next time. */
    const step = (begin: () => void): Promise<void> =>
      new Promise((resolve) => {
        onStep = resolve
        begin()
      })
    const start = (): Promise<void> =>
      step(() => {
        const pause = (ms: number): Promise<void> =>
          new Promise((end) => {
            pauses.push({ ms, end })
            onStep()
          })
        stop = world.startRetaining(pause, {
          onRetained: (turn) => turns.push(turn),
          onFailure: (error) => {
            throw error
          },
          onWaiting: (last, until) => waits.push([last, until]),
        })
      })

    beforeEach(async () => {
      world = createWorld(await openPlace())
      ;[pauses, turns, waits] = [[], [], []]
      for (let days = 10; days >= 0; days--) await world.liveOn(ago(days))
    })
    afterEach(async () => {
      stop()
      await world.close()
    })

    it('waits an hour before anything goes, and says so', async () => {
      const ahead = noon + 45 * 24 * hourMs
      world.moveTo(new Date(ahead).toISOString())
      await start()
      expect([turns, await firstDay()]).to.deep.equal([[], ago(10)])
      expect(waits.map(([last, until]) => [dayOf(last), until])).to.deep.equal([[today, ahead + hourMs]])
      expect(pauses.map(({ ms }) => ms)).to.deep.equal([hourMs])
      await step(() => pauses[0]?.end())
      expect([turns.length, await firstDay()]).to.deep.equal([1, ago(10)])
    })

    it('goes day by day, one in four turns, though something has been received by it; all is there again by the right clock', async () => {
      await world.liveOn(ago(-45))
      await start()
      const begins = [await firstDay()]
      for (let turn = 2; turn <= 9; turn++) {
        await step(() => pauses.at(-1)?.end())
        begins.push(await firstDay())
      }
      const day = (daysAgo: number): string[] => Array.from({ length: 4 }, () => ago(daysAgo))
      expect(waits).to.deep.equal([])
      expect(begins).to.deep.equal([...day(10).slice(1), ...day(9), ...day(8).slice(2)])
      // As if the first day of the log were to go tomorrow.
      expect(turns.map(({ standsAt = 0 }) => dayOf(standsAt))).to.deep.equal(
        begins.map((first) => dayOf(Date.parse(first) + 38 * 24 * hourMs)),
      )
      stop()
      world.moveTo(`${today}T13:00:00Z`)
      await world.restart()
      expect(await daysShown(world, free), 'days of indexes have gone').to.not.include(ago(7))
      // No projector has been seen for a while.
      world.moveTo(`${today}T14:00:00Z`)
      const rebuilt = await rebuild(world.context, projections)
      expect(rebuilt.map(({ verdict }) => verdict.equal)).to.deep.equal(projections.map(() => true))
      expect(await daysShown(world, free)).to.deep.equal([...world.lived(ago(7))])
    })

    it('waits whatever the program itself has noted since', async () => {
      const ahead = noon + 45 * 24 * hourMs
      world.moveTo(new Date(ahead).toISOString())
      // More than are looked through at first, and than are read at once.
      const own = ['allowance.began', 'allowance.reserved', 'directory.key.created', 'deadletter.put'] as const
      const noted = Array.from({ length: 2 * limits.projectorBatchEventsMax }, (_, n) => ({
        ...sealBeginning(ahead),
        id: `noted.${n}`,
        type: own[n % own.length] ?? own[0],
      }))
      await world.stream.append(noted)
      await start()
      expect([turns, waits.map(([last]) => dayOf(last))]).to.deep.equal([[], [today]])
    })

    it('waits where little is left of a log that was cut', async () => {
      for (let days = 1; days <= 10; days++) await world.liveOn(ago(-days))
      await world.stream.cut((await world.stream.head()) - 5 * positionStep)
      world.moveTo(new Date(noon + 45 * 24 * hourMs).toISOString())
      await start()
      expect(waits.map(([last]) => dayOf(last))).to.deep.equal([ago(-10)])
    })

    it('keeps of the indexes what it would keep the next day, where the log goes back as far as it ever does', async () => {
      for (let days = 1; days <= 30; days++) await world.liveOn(ago(-days))
      await world.retain()
      const held = () => daysHeld(world, buildName(logsProjection, 1), pro)
      const before = await held()
      expect([before[0], await firstDay()]).to.deep.equal([ago(1), ago(8)])
      await world.liveOn(ago(-90))
      await start()
      for (let turn = 2; turn <= 4; turn++) await step(() => pauses.at(-1)?.end())
      expect([await held(), await firstDay()]).to.deep.equal([[...before.slice(1), ago(-90)], ago(7)])
    })

    it('keeps as much where somebody keeps a build that has seen what the log has lost, and never gets on', async () => {
      for (let days = 1; days <= 30; days++) await world.liveOn(ago(-days))
      await world.retain()
      const held = () => daysHeld(world, buildName(logsProjection, 1), pro)
      const before = await held()
      const index = buildName(logsProjection, 2)
      await world.writer().open(index, logsProjection, world.stream.epoch)
      const keep: Change = (roster) => ({ ...roster, followed: [{ index, as: 'kept', lost: true }] })
      await changeRoster(world.writer(), 'logs', keep)
      await world.liveOn(ago(-90))
      await start()
      expect([await held(), await firstDay()]).to.deep.equal([[...before, ago(-90)], ago(8)])
    })

    it('has taken eleven days that expired while it was off within two days', async () => {
      let now = noon + 60 * 24 * hourMs
      world.moveTo(new Date(now).toISOString())
      await start()
      while (pauses.length < 2 * 24 && turns.at(-1)?.cutTo !== (await world.stream.head())) {
        world.moveTo(new Date((now += hourMs)).toISOString())
        await step(() => pauses.at(-1)?.end())
      }
      expect(turns.at(-1)).to.not.have.property('standsAt')
      expect((await world.stream.first())?.position).to.equal(await world.stream.head())
    })

    it('goes on though no process runs for four turns, once something has come on seven days since', async () => {
      const begins: string[] = []
      for (let days = 31; days <= 39; days++) {
        await world.liveOn(ago(-days))
        await start()
        begins.push(await firstDay())
        stop()
      }
      expect(begins).to.deep.equal([...Array.from({ length: 6 }, () => ago(10)), ago(9), ago(8), ago(7)])
      await start()
    })

    it('waits once a week has gone without anything', async () => {
      world.moveTo(new Date(noon + 7 * 24 * hourMs).toISOString())
      await start()
      expect([turns, waits.map(([last]) => dayOf(last))]).to.deep.equal([[], [today]])
    })

    it('takes its turn at once within a week', async () => {
      world.moveTo(new Date(noon + 6 * 24 * hourMs).toISOString())
      await start()
      expect([turns.length, waits]).to.deep.equal([1, []])
    })
  })
}
