import { expect } from 'chai'
import { sealBeginning } from '#src/events/allowance.ts'
import { dayOf } from '#src/lib/day.ts'
import { TransientError } from '#src/lib/failure.ts'
import type { Stream } from '#streams/stream.ts'
import { readAll, rejection } from '#test/support/read-all.ts'
import { retentionClassOf } from '#src/events/retention.ts'
import { ago, eventsOn, pro, createWorld, memoryPlace, today, type World } from '#test/support/retention-world.ts'

describe('what retention says anew before it cuts the log', () => {
  let world: World
  const { subject } = sealBeginning(0)

  const daysSaid = async (): Promise<readonly string[]> =>
    (await readAll(world.stream)).filter((event) => event.subject === subject).map((event) => dayOf(event.receivedAt))
  const firstDay = async (): Promise<string> => dayOf((await world.stream.first())?.receivedAt ?? 0)
  const retainWith = (append: Stream['append']) => world.retain({ stream: { ...world.stream, append } })

  beforeEach(async () => {
    world = createWorld(memoryPlace())
    await world.stream.append([sealBeginning(Date.parse(ago(61)))])
    for (const days of [60, 1, 0]) await world.liveOn(ago(days))
  })
  afterEach(() => world.close())

  it('is in what is left of it, once', async () => {
    await world.retain()
    await world.retain()
    expect([await firstDay(), await daysSaid()]).to.deep.equal([ago(1), [today]])
  })

  it('is said by one where another process does it too', async () => {
    await retainWith(async (events, expected) => {
      await world.stream.append([{ ...sealBeginning(world.clock()), id: 'began.by-another' }], expected)
      return world.stream.append(events, expected)
    })
    expect([await firstDay(), await daysSaid()]).to.deep.equal([ago(1), [today]])
  })

  it('keeps all of it where that could not be said', async () => {
    const failure = new TransientError({ operation: 'append to', subject: 'a log that is away' })
    expect(await rejection(retainWith(() => Promise.reject(failure)))).to.equal(failure)
    expect([await firstDay(), await daysSaid()]).to.deep.equal([ago(61), [ago(61)]])
  })
})

describe('what is received under a plan that keeps more than other plans do', () => {
  it('stays in the log for the days of that plan, and some more', async () => {
    const world = createWorld(memoryPlace())
    const firstDay = async (): Promise<string> => dayOf((await world.stream.first())?.receivedAt ?? 0)
    await world.liveOn(ago(68))
    for (const event of eventsOn(pro, ago(67)))
      await world.stream.append([{ ...event, retentionClass: retentionClassOf(60) }])
    for (const days of [66, 1, 0]) await world.liveOn(ago(days))
    await world.retain()
    expect(await firstDay()).to.equal(ago(67))
    world.moveTo(`${ago(-1)}T00:00:00Z`)
    await world.retain()
    expect(await firstDay()).to.equal(ago(1))
    await world.close()
  })
})
