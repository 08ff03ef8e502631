import { expect } from 'chai'
import type { Retained } from '#projections/retention.ts'
import { sealBeginning } from '#src/events/allowance.ts'
import { dayOf } from '#src/lib/day.ts'
import {
  ago,
  createWorld,
  memoryPlace,
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
      expect(turns.map(({ cutTo }) => cutTo)).to.deep.equal([await world.stream.head()])
    })

    it('waits whatever the program itself has noted since', async () => {
      const ahead = noon + 45 * 24 * hourMs
      world.moveTo(new Date(ahead).toISOString())
      // More than are looked through at first.
      for (let n = 0; n < 100; n++) await world.stream.append([{ ...sealBeginning(ahead), id: `began.${n}` }])
      await start()
      expect([turns, waits.length]).to.deep.equal([[], 1])
    })

    it('takes its turn at once within a week', async () => {
      world.moveTo(new Date(noon + 6 * 24 * hourMs).toISOString())
      await start()
      expect([turns.length, waits]).to.deep.equal([1, []])
    })
  })
}
