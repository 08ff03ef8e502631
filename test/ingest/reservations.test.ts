import { expect } from 'chai'
import { limits as allLimits } from '#src/config.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import { resetDateOf, type Grant } from '#src/ingest/allowance.ts'
import { decideSpans } from '#src/ingest/decide-spans.ts'
import type { ReservedAllowance } from '#src/ingest/reserved-allowance.ts'
import { readAll } from '#test/support/read-all.ts'
import { acme, reserving } from './reserving.ts'

describe('how many spans are reserved', () => {
  const limits = { reservedSpansMax: 1_000, reservedShare: 8, reservedSpansMin: 10 }
  const decide = (left: number, ...asked: number[]) =>
    decideSpans({ limit: 10_000, spent: 10_000 - left, held: 0, asked }, limits)

  it('is an eighth of what is left, at most and at least so many, and always what is asked for', () => {
    expect(decide(10_000, 1)).to.deep.equal({ kind: 'reserve', spans: 1_000, isNear: false })
    expect(decide(800, 1, 2)).to.deep.equal({ kind: 'reserve', spans: 100, isNear: false })
    expect(decide(800, 300, 400)).to.deep.equal({ kind: 'reserve', spans: 700, isNear: false })
    expect(decide(79, 1, 2)).to.deep.equal({ kind: 'reserve', spans: 3, isNear: true })
    expect(decide(800, 500, 301)).to.deep.equal({ kind: 'reserve', spans: 500, isNear: true })
  })

  it('is what is left, once it is certain that no more comes free', () => {
    expect(decide(7, 8)).to.deep.equal({ kind: 'rest', spans: 7 })
    const standing = { limit: 100, spent: 60, held: 35, asked: [6] }
    expect(decideSpans(standing, limits)).to.deep.equal({ kind: 'wait' })
    expect(decideSpans({ ...standing, limit: 60 }, limits)).to.deep.equal({ kind: 'rest', spans: 0 })
    expect(decideSpans({ ...standing, limit: null }, limits)).to.deep.include({ kind: 'reserve', spans: 1_000 })
  })
})

describe('reservations', () => {
  const site = reserving()
  const { start, asking, reserve, granted, spend, ledger, entries } = site

  it('serve many requests by one event, which says month, limit and size', async () => {
    const gate = start()
    for (let request = 0; request < 100; request++) await spend(gate, await granted(gate, 50), `request-${request}`)
    const [[type, entry] = ['', undefined], ...others] = await entries()
    expect(others).to.deep.equal([])
    expect([type, entry?.month]).to.deep.equal(['allowance.reserved', '2026-11'])
    expect(entry?.reserved).to.deep.include({ spans: 6_250, limit: 50_000 })
  })

  it('are given back when they are not used, and on stop', async () => {
    const gate = start()
    const first = await granted(gate, 50)
    await spend(gate, first, 'first')
    await site.world.until(site.world.sleep(allLimits.reservationIdleMs - 100))
    const next = await granted(gate, 20)
    expect(next.reservation).to.equal(first.reservation)
    await spend(gate, next, 'next')
    await site.world.until(site.world.sleep(allLimits.reservationIdleMs - 100))
    expect((await ledger()).open, 'used meanwhile').to.have.length(1)
    await site.world.until(site.world.sleep(2_000))
    expect(await ledger()).to.deep.equal({ spent: 70, open: [] })
    await spend(gate, await granted(gate, 30), 'second')
    expect((await ledger()).open).to.have.length(1)
    await site.world.until(gate.close())
    expect(await ledger()).to.deep.equal({ spent: 100, open: [] })
    expect(await site.world.until(gate.reserve(asking(1)))).to.equal('pending')
    const types = (await readAll(site.stream)).map(({ type }) => type)
    expect(types, 'what is known is not counted in the log').not.to.include('allowance.closed')
  })

  it('that a turn takes while their process stops are given back, and who waits for them comes again', async () => {
    const gate = start()
    const asked = gate.reserve(asking(50))
    await site.world.until(gate.close())
    expect(await site.world.until(asked)).to.equal('pending')
    expect(await ledger()).to.deep.equal({ spent: 0, open: [] })
  })

  it('that a turn is just writing when their process stops are given back too', async () => {
    const whole = site.stream
    let closed: Promise<void> | undefined
    site.stream = {
      ...whole,
      append: (events, expected) => {
        if (events[0]?.type === 'allowance.reserved') closed ??= gate.close()
        return whole.append(events, expected)
      },
    }
    const gate = start()
    expect(await site.world.until(gate.reserve(asking(50)))).to.equal('pending')
    await site.world.until(Promise.resolve(closed))
    expect((await entries()).map(([type]) => type)).to.deep.equal(['allowance.reserved', 'allowance.returned'])
    expect(await ledger()).to.deep.equal({ spent: 0, open: [] })
  })

  it('of others are left to others, once a process has stopped', async () => {
    const [gone, gate] = [start(), start()]
    await granted(gone, 90, { limit: 100 })
    site.gates = [gate]
    expect(await reserve(gate, 20, { limit: 100 })).to.equal('pending')
    await site.world.until(gate.close())
    const head = await site.stream.head()
    await site.world.until(site.world.sleep(2 * allLimits.reservationTermMs))
    expect(await site.stream.head()).to.equal(head)
  })

  it('are used for some seconds, however busy', async () => {
    const gate = start({ limits: { ...allLimits, reservationIdleMs: 60_000 } })
    const first = await granted(gate, 1, { limit: null })
    await spend(gate, first, 'first')
    await site.world.until(site.world.sleep(allLimits.reservationUseMs))
    const second = await granted(gate, 1, { limit: null })
    expect(second.reservation).not.to.equal(first.reservation)
    await spend(gate, second, 'second')
  })

  it('that are too small for the next request keep what is granted of them, and nothing else', async () => {
    const gate = start()
    const [small, large] = [await granted(gate, 1), await granted(gate, 10_000)]
    expect((await ledger()).open.map(({ id, spans }) => [id, spans])).to.deep.equal([
      [small.reservation, 1],
      [large.reservation, 10_000],
    ])
    await spend(gate, small, 'small')
    await spend(gate, large, 'large')
  })

  it('keep the rest from others, who are told to come again, until they are given back', async () => {
    const [one, other] = [start(), start()]
    const grant = await granted(one, 90, { limit: 100 })
    expect(await reserve(other, 20, { limit: 100 })).to.equal('pending')
    expect(await granted(other, 10, { limit: 100 })).to.deep.include({ granted: 10, used: 90 })
    const waiting = other.reserve(asking(20, { limit: 100 }))
    one.release(grant)
    expect(await site.world.until(waiting)).to.deep.include({ granted: 20, used: 10 })
  })

  it('are granted to who waits as soon as a request of the same process gives them back', async () => {
    const gate = start()
    const grant = await granted(gate, 90, { limit: 100 })
    const waiting = gate.reserve(asking(20, { limit: 100 }))
    await site.world.until(site.world.sleep(1))
    const before = site.world.now()
    gate.release(grant)
    expect(await site.world.until(waiting)).to.include({ granted: 20 })
    expect(site.world.now()).to.equal(before)
  })

  it('stay, near the limit, for as long as one of their requests is under way', async () => {
    const gate = start()
    const limit = 100
    const both = [gate.reserve(asking(25, { limit })), gate.reserve(asking(25, { limit }))]
    const [running, unused] = (await site.world.until(Promise.all(both))) as [Grant, Grant]
    gate.release(unused)
    expect(gate.take(asking(25, { limit }))).to.include({ reservation: running.reservation })
  })

  it('are waited for as long as ever, however often something else of the process ends meanwhile', async () => {
    const [one, other] = [start(), start({ limits: { ...allLimits, heldSpansPollsMax: 5 } })]
    const limit = 100
    const theirs = await granted(one, 85, { limit })
    const ended: Grant[] = []
    for (let spans = 0; spans < 10; spans++) ended.push(await granted(other, 1, { limit }))
    const waiting = other.reserve(asking(50, { limit }))
    for (const grant of ended) {
      await site.world.until(site.world.sleep(1))
      other.release(grant)
    }
    one.release(theirs)
    expect(await site.world.until(waiting)).to.include({ granted: 50, used: 0 })
  })

  it('are given back also while their process itself waits for what others hold', async () => {
    const [one, other] = [start(), start()]
    const limit = 100
    const both = [one.reserve(asking(25, { limit })), one.reserve(asking(25, { limit }))]
    const [stored, unused] = (await site.world.until(Promise.all(both))) as [Grant, Grant]
    const theirs = await granted(other, 40, { limit })
    const waiting = one.reserve(asking(60, { limit }))
    await spend(one, stored, 'stored')
    one.release(unused)
    await site.world.until(site.world.sleep(50))
    expect(await ledger()).to.deep.include({ spent: 25 })
    expect(await granted(other, 30, { limit })).to.include({ granted: 30, used: 65 })
    other.release(theirs)
    expect(await site.world.until(waiting)).to.equal('pending')
  })

  it('leave the last to those who ask for more only when nobody holds anything', async () => {
    const [one, other] = [start(), start()]
    await spend(one, await granted(one, 95, { limit: 100 }), 'first')
    await spend(other, await granted(other, 20, { limit: 100 }), 'cut')
    expect(await granted(one, 1, { limit: 100 })).to.include({ granted: 0, reservation: '' })
    expect(await ledger()).to.deep.equal({ spent: 100, open: [] })
  })

  it('are of the month of receipt', async () => {
    const gate = start()
    const last = Date.UTC(2026, 11, 1) - 1
    const old = await granted(gate, 60, { limit: 100, at: last })
    const young = await granted(gate, 60, { limit: 100, at: last + 1 })
    await spend(gate, old, 'old')
    await spend(gate, young, 'young')
    await site.world.until(gate.close())
    expect([(await ledger('2026-11')).spent, (await ledger('2026-12')).spent]).to.deep.equal([60, 60])
    expect(resetDateOf('2026-12')).to.equal('2027-01-01')
  })

  it('follow a change of plan at once, also while they are open', async () => {
    const gate = start()
    await spend(gate, await granted(gate, 50), 'first')
    const lower = await granted(gate, 20, { limit: 60 })
    expect(lower).to.include({ granted: 10, used: 50 })
    await spend(gate, lower, 'cut')
    expect((await granted(gate, 1, { limit: 40 })).granted).to.equal(0)
    const higher = await granted(gate, 20, { limit: 1_000_000 })
    expect(higher).to.include({ granted: 20, used: 60 })
    await spend(gate, higher, 'whole')
  })

  it('of workspaces are apart', async () => {
    const gate = start()
    for (const workspaceId of [acme, workspaceIdOf('globex')]) {
      expect((await granted(gate, 100, { limit: 100, workspaceId })).granted).to.equal(100)
    }
  })

  it('are looked for in the log only while others hold some', async () => {
    let looks = 0
    const whole = site.stream
    site.stream = { ...whole, last: async (subject) => (looks++, whole.last(subject)) }
    const gate = start()
    const grant = await granted(gate, 1)
    const before = looks
    await site.world.until(site.world.sleep(allLimits.reservationIdleMs))
    expect(looks).to.equal(before)
    await spend(gate, grant, 'only')
  })

  it('come to what counts, where the log holds a request twice', async () => {
    let counts: number | undefined
    const gate = start({ counted: async () => counts })
    await spend(gate, await granted(gate, 100, { limit: 100 }), 'all')
    expect((await granted(gate, 10, { limit: 100 })).granted, 'where nobody counts').to.equal(0)
    counts = 95
    await site.world.until(site.world.sleep(2_000))
    const grant = await granted(gate, 10, { limit: 100 })
    expect(grant).to.include({ granted: 5, used: 95 })
    await spend(gate, grant, 'the rest')
    expect((await entries()).map(([type]) => type)).to.include('allowance.counted')
  })

  it('are refused to nobody before it is known what counts, for as long as that may take', async () => {
    let looks = 0
    const gate = start({ counted: async () => (++looks < allLimits.heldSpansPollsMax ? undefined : 95) })
    await spend(gate, await granted(gate, 100, { limit: 100 }), 'all')
    const began = site.world.ticks()
    expect(await granted(gate, 10, { limit: 100 })).to.include({ granted: 5, used: 95 })
    expect(looks).to.equal(allLimits.heldSpansPollsMax)
    expect(site.world.ticks() - began).to.be.within(2_000, 2_500)
  })

  it('are counted once for all who are refused, and each second once it is known that nobody counts', async () => {
    let counts: number | undefined
    let asked = 0
    const gate = start({ counted: async () => (asked++, counts) })
    await spend(gate, await granted(gate, 100, { limit: 100 }), 'all')
    const refused = async (times: number): Promise<void> => {
      for (let time = 0; time < times; time++) expect((await granted(gate, 1, { limit: 100 })).granted).to.equal(0)
    }
    await refused(3)
    expect(asked).to.equal(allLimits.heldSpansPollsMax)
    site.world.jump(1_000)
    await refused(3)
    expect(asked).to.equal(allLimits.heldSpansPollsMax + 1)
    site.world.jump(1_000)
    counts = 100
    await refused(3)
    expect(asked).to.equal(allLimits.heldSpansPollsMax + 2)
    site.world.jump(60_000)
    await refused(3)
    expect(asked).to.equal(allLimits.heldSpansPollsMax + 2)
  })

  it('come to what counts, and are returned when nothing uses them, also while the clock stands still that was set back', async () => {
    let counts: number | undefined
    const stood = site.world.now()
    const [gate, other] = [start({ counted: async () => counts, clock: () => stood }), start()]
    const limit = 10_000
    await spend(gate, await granted(gate, 100, { limit }), 'first')
    await site.world.until(site.world.sleep(2_000))
    expect((await ledger()).open).to.deep.equal([])
    await spend(other, await granted(other, limit - 100, { limit }), 'all')
    expect(await granted(gate, 10, { limit })).to.include({ granted: 0 })
    counts = limit - 5
    await site.world.until(site.world.sleep(2_000))
    const grant = await granted(gate, 10, { limit })
    expect(grant).to.include({ granted: 5, used: limit - 5 })
    await spend(gate, grant, 'the rest')
  })

  it('come to what counts also for a request that waited for the last of them to end', async () => {
    const gate = start({ counted: async () => 95 })
    const all = await granted(gate, 100, { limit: 100 })
    const waiting = gate.reserve(asking(10, { limit: 100 }))
    await spend(gate, all, 'all')
    const grant = (await site.world.until(waiting)) as Grant
    expect(grant).to.include({ granted: 5, used: 95 })
    await spend(gate, grant, 'the rest')
  })

  it('of others stay open where less counts than a lower limit has been spent by', async () => {
    const [one, other] = [start({ counted: async () => 45 }), start()]
    await spend(one, await granted(one, 50, { limit: 100 }), 'before the plan was changed')
    const theirs = await granted(other, 10, { limit: 100 })
    expect(await granted(one, 1, { limit: 40 })).to.include({ granted: 0 })
    expect((await ledger()).open.map(({ id }) => id)).to.deep.equal([theirs.reservation])
    await spend(other, theirs, 'meanwhile')
  })

  it('are kept while a request is under way, however long it takes', async () => {
    const gate = start()
    const slow = await granted(gate, 1)
    await site.world.until(site.world.sleep(allLimits.reservationIdleMs + 500))
    const next = await granted(gate, 1)
    expect(next.reservation).to.equal(slow.reservation)
    await spend(gate, slow, 'slow')
    await spend(gate, next, 'next')
  })

  it('are for those who ask by one limit: who asks by another has the next', async () => {
    const gate = start()
    const both = [gate.reserve(asking(30, { limit: 100 })), gate.reserve(asking(20, { limit: 90 }))]
    for (const grant of await site.world.until(Promise.all(both))) gate.release(grant as Grant)
    const made = (await entries()).flatMap(([, { reserved }]) => (reserved === undefined ? [] : [reserved]))
    expect(made.map(({ spans, limit }) => [spans, limit])).to.deep.equal([
      [30, 100],
      [20, 90],
    ])
  })

  it('say where the count stood before, so that a mark is not passed unseen', async () => {
    const [one, other] = [start(), start()]
    await spend(one, await granted(one, 70, { limit: 100 }), 'first')
    await spend(other, await granted(other, 15, { limit: 100 }), 'second')
    expect(await granted(one, 1, { limit: 100 })).to.include({ used: 85, usedBefore: 70 })
  })

  it('say so to the next whose answer can tell, however much later in the month that comes', async () => {
    const gate = start()
    await spend(gate, await granted(gate, 70, { limit: 100 }), 'first')
    await spend(gate, await granted(gate, 15, { limit: 100, isSilent: true }), 'of a browser')
    await site.world.until(site.world.sleep(60_000))
    const third = await granted(gate, 1, { limit: 100 })
    expect(third).to.include({ used: 85, usedBefore: 70 })
    await spend(gate, third, 'third')
    await site.world.until(site.world.sleep(60_000))
    expect(await granted(gate, 1, { limit: 100 })).to.include({ used: 86, usedBefore: 86 })
  })

  it('pass a mark once in each process, when it has been used: not by what others hold and give back', async () => {
    const [one, other] = [start(), start()]
    const limit = 1_000_000
    await spend(one, await granted(one, 770_000, { limit }), 'before')
    const passedAt: number[] = []
    // Each has what the other holds before it or after it, until both have given back what they did not use.
    const turns = Array.from({ length: 100 }, (_, index) => [one, other, other, one][index % 4] as ReservedAllowance)
    for (const [index, gate] of turns.entries()) {
      const grant = await granted(gate, 500, { limit })
      const used = 770_000 + 500 * (index + 1)
      if (grant.usedBefore < 0.8 * limit && grant.used + 500 >= 0.8 * limit) passedAt.push(used)
      await spend(gate, grant, `request-${index}`)
      await site.world.until(site.world.sleep(900))
    }
    expect(passedAt).to.have.length.within(1, 2)
    for (const at of passedAt) expect(at).to.be.within(800_000, 802_000)
  })

  it('are not made where too many are open', async () => {
    const limits = { ...allLimits, reservationsOpenMax: 1 }
    const [one, other] = [start({ limits }), start({ limits })]
    await granted(one, 1)
    expect(await reserve(other, 1)).to.equal('pending')
  })

  it('stay as they are where all of them count', async () => {
    const gate = start({ counted: async () => 100 })
    await spend(gate, await granted(gate, 100, { limit: 100 }), 'all')
    expect((await granted(gate, 10, { limit: 100 })).granted).to.equal(0)
    expect((await entries()).map(([type]) => type)).not.to.include('allowance.counted')
  })

  it('fail with the log, for those who wait, and go on with it', async () => {
    let isDown = true
    const whole = site.stream
    site.stream = {
      ...whole,
      last: async (subject) => (isDown ? Promise.reject(new Error('down')) : whole.last(subject)),
    }
    const gate = start()
    const both = Promise.allSettled([gate.reserve(asking(1)), gate.reserve(asking(2))])
    expect((await site.world.until(both)).map(({ status }) => status)).to.deep.equal(['rejected', 'rejected'])
    isDown = false
    expect((await granted(gate, 1)).granted).to.equal(1)
  })

  it('are in the order in which they are asked for, and none is needed for nothing', async () => {
    const gate = start()
    const first = await granted(gate, 1)
    expect(gate.take(asking(0))).to.include({ granted: 0, reservation: '' })
    const second = gate.reserve(asking(10_000))
    expect(gate.take(asking(1)), 'behind the second').to.equal(undefined)
    expect(await site.world.until(second)).to.include({ granted: 10_000 })
    await spend(gate, first, 'first')
  })

  it('let only so many wait', async () => {
    const gate = start({ limits: { ...allLimits, appendQueueEventsMax: 2 } })
    const all = Promise.allSettled([1, 2, 3].map((spans) => gate.reserve(asking(spans))))
    expect((await site.world.until(all)).map(({ status }) => status)).to.deep.equal([
      'fulfilled',
      'fulfilled',
      'rejected',
    ])
  })
})
