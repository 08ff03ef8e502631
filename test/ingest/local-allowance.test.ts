import { expect } from 'chai'
import { monthOf, resetDateOf, type AllowanceGate, type Grant, type SpansAsked } from '#src/ingest/allowance.ts'
import { createLocalAllowance } from '#src/ingest/local-allowance.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'

const workspaceId = workspaceIdOf('acme')
const november = Date.UTC(2026, 10, 21)

describe('local allowance', () => {
  let used: number
  let stored: Set<string>
  let now: number
  let loads: number
  let gate: AllowanceGate
  beforeEach(() => {
    used = 0
    loads = 0
    stored = new Set()
    now = november
    gate = createLocalAllowance({
      usedSpans: async () => (loads++, used),
      isStored: async (eventId) => stored.has(eventId),
      clock: () => now,
    })
  })
  const ask = (spans: number, more: Partial<SpansAsked> = {}): Promise<Grant | 'pending'> =>
    gate.reserve({ workspaceId, eventId: `acme.traces.${Math.random()}`, spans, limit: 100, at: now, ...more })
  const granted = async (spans: number, more: Partial<SpansAsked> = {}): Promise<Grant> => {
    const grant = await ask(spans, more)
    if (grant === 'pending') throw new Error('pending')
    return grant
  }

  it('grants up to the limit and no more', async () => {
    const first = await granted(60)
    expect(first).to.deep.include({ granted: 60, used: 0 })
    await gate.settle(first.reservation)
    const second = await granted(60)
    expect(second).to.deep.include({ granted: 40, used: 60 })
    await gate.settle(second.reservation)
    expect(await granted(1)).to.deep.include({ granted: 0, used: 100 })
  })

  it('begins with what the log holds, which it reads once', async () => {
    used = 99
    const grants = await Promise.all([granted(0), granted(1), granted(0)])
    expect(grants.map((grant) => grant.granted)).to.deep.equal([0, 1, 0])
    expect(loads).to.equal(1)
  })

  it('asks the log again when it could not be read', async () => {
    const broken = createLocalAllowance({
      usedSpans: async () => {
        if (loads++ === 0) throw new Error('not now')
        return 7
      },
      isStored: async () => false,
      clock: () => now,
    })
    const asked = { workspaceId, eventId: 'a', spans: 1, limit: 100, at: now }
    const failure = await broken.reserve(asked).catch((error: Error) => error.message)
    expect(failure).to.equal('not now')
    expect(await broken.reserve(asked)).to.deep.include({ granted: 1, used: 7 })
  })

  it('takes a plan without limit, and counts on', async () => {
    const first = await granted(1_000, { limit: null })
    expect(first.granted).to.equal(1_000)
    await gate.settle(first.reservation)
    expect(await granted(1)).to.deep.include({ granted: 0, used: 1_000 })
  })

  it('keeps requests waiting for a rest that others hold, in order', async () => {
    const first = await granted(80)
    const answers: string[] = []
    const second = granted(50).then((grant) => (answers.push(`second ${grant.granted}`), grant))
    const third = granted(5).then((grant) => (answers.push(`third ${grant.granted}`), grant))
    await Promise.resolve()
    expect(answers).to.deep.equal([])
    await gate.release(first.reservation)
    await gate.settle((await second).reservation)
    await third
    expect(answers).to.deep.equal(['second 50', 'third 5'])
  })

  it('cuts a request only when what others hold is decided', async () => {
    const first = await granted(80)
    const second = granted(50)
    await gate.settle(first.reservation)
    expect(await second).to.deep.include({ granted: 20, used: 80 })
  })

  it('never stores more than the limit, whatever order things end in', async () => {
    let total = 0
    const one = async (spans: number, index: number): Promise<void> => {
      const { granted: count, reservation } = await granted(spans)
      await new Promise((resolve) => setImmediate(resolve))
      if (index % 3 === 0) return gate.release(reservation)
      total += count
      return gate.settle(reservation)
    }
    await Promise.all(Array.from({ length: 60 }, (_none, index) => one((index % 7) + 1, index)))
    expect(total).to.equal(100)
  })

  it('counts by calendar month in UTC, of receipt', async () => {
    const lastMs = Date.UTC(2026, 11, 1) - 1
    const last = await granted(100, { at: lastMs })
    await gate.settle(last.reservation)
    expect((await granted(1, { at: lastMs })).granted).to.equal(0)
    expect((await granted(100, { at: lastMs + 1 })).granted).to.equal(100)
    expect((await granted(1, { at: lastMs })).granted).to.equal(0)
  })

  it('holds workspaces apart', async () => {
    await granted(100)
    expect((await granted(100, { workspaceId: workspaceIdOf('other') })).granted).to.equal(100)
  })

  describe('with an append of unknown outcome', () => {
    const eventId = 'acme.traces.doubtful'
    beforeEach(async () => {
      const { reservation } = await granted(90, { eventId })
      await gate.doubt(reservation)
    })

    it('keeps its spans, and answers that the rest is pending', async () => {
      const last = await granted(10)
      expect(last.granted).to.equal(10)
      await gate.settle(last.reservation)
      expect(await ask(1)).to.equal('pending')
    })

    it('counts them once they are found in the log', async () => {
      stored.add(eventId)
      expect(await granted(20)).to.deep.include({ granted: 10, used: 90 })
    })

    it('gives them back when they are not in the log long after', async () => {
      now += 60_001
      expect(await granted(20)).to.deep.include({ granted: 20, used: 0 })
    })

    it('lets its own retry have the same place', async () => {
      const retry = await granted(90, { eventId })
      expect(retry.granted).to.equal(90)
      await gate.settle(retry.reservation)
      expect(await granted(20)).to.deep.include({ granted: 10, used: 90 })
    })

    it('counts once when the retry learns that the first was stored', async () => {
      const retry = await granted(90, { eventId })
      stored.add(eventId)
      await gate.doubt(retry.reservation)
      expect(await granted(20)).to.deep.include({ granted: 10, used: 90 })
    })

    it('counts once when another copy is stored while this one is in doubt', async () => {
      const [one, two] = await Promise.all([
        granted(5, { eventId: 'copy', limit: null }),
        granted(5, { eventId: 'copy', limit: null }),
      ])
      await gate.settle(one.reservation)
      await gate.doubt(two.reservation)
      stored.add('copy').add(eventId)
      expect(await granted(20)).to.deep.include({ granted: 5, used: 95 })
    })
  })

  it('names months and their ends', () => {
    expect(monthOf(november)).to.equal('2026-11')
    expect(resetDateOf('2026-11')).to.equal('2026-12-01')
    expect(resetDateOf('2026-12')).to.equal('2027-01-01')
  })
})
