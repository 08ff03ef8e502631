import { expect } from 'chai'
import { limits as allLimits } from '#src/config.ts'
import { ledgerSubject, reservationSubject, sealClosing } from '#src/events/allowance.ts'
import { beforeAll, noCounts } from '#src/events/envelope.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import type { Grant } from '#src/ingest/allowance.ts'
import { beginLedgers } from '#src/ingest/begin-ledgers.ts'
import type { ReservedAllowance } from '#src/ingest/reserved-allowance.ts'
import { TransientError } from '#src/lib/failure.ts'
import { systemTimers } from '#src/lib/timers.ts'
import { createMemoryStream } from '#streams/memory/stream.ts'
import { ConflictError, repeatWindowMs, type Stream } from '#streams/stream.ts'
import { makeEvent, makeEvents } from '#test/support/make-event.ts'
import { readAll, rejection } from '#test/support/read-all.ts'
import { createProcess } from '#test/support/virtual-world.ts'
import { acme, reserving } from './reserving.ts'

describe('reservations of those who give nothing back', () => {
  const site = reserving()
  const { newId, start, granted, spend, ledger, entries } = site

  /** From now on the log does this before it takes in that a reservation is closed. */
  function beforeClosings(task: () => Promise<void> | void): void {
    const whole = site.stream
    site.stream = {
      ...whole,
      append: async (events, expected) => {
        if (events[0]?.type === 'allowance.closed') await task()
        return whole.append(events, expected)
      },
    }
  }

  it('are taken back from who does not return, after counting what is in the log of them', async () => {
    const [sleeper, other] = [
      start({ timers: { every: () => () => undefined, pause: () => new Promise(() => {}), turn: async () => {} } }),
      start(),
    ]
    const [stored, asleep] = [await granted(sleeper, 40, { limit: 100 }), await granted(sleeper, 50, { limit: 100 })]
    await spend(sleeper, stored, 'stored')
    await site.world.until(site.world.sleep(allLimits.reservationTermMs))
    const grant = await granted(other, 60, { limit: 100 })
    expect(grant).to.include({ granted: 60, used: 40 })
    await spend(other, grant, 'theirs')
    const ended = (await entries()).flatMap(([, entry]) => entry.ended)
    expect(ended).to.deep.include({ id: stored.reservation, spent: 40 })
    expect(await rejection(spend(sleeper, asleep, 'too late'))).to.be.instanceOf(ConflictError)
    sleeper.doubt(asleep)
    expect((await granted(sleeper, 50, { limit: 100 })).granted).to.equal(0)
  })

  for (const [how, end] of Object.entries<(gate: ReservedAllowance, lost: Grant) => void>({
    'in doubt': (gate, lost) => gate.doubt(lost),
    'with nothing written': (gate, lost) => gate.release(lost),
    'with its event in the log': (gate, lost) => gate.settle(lost, 'acme.traces.lost'),
  })) {
    it(`and of which their process has learned that, end without it: a request that ends ${how}`, async () => {
      const [slow, other] = [start(), start()]
      const lost = await granted(slow, 40, { limit: 100 })
      await site.world.until(site.world.sleep(allLimits.reservationTermMs))
      await spend(other, await granted(other, 90, { limit: 100 }), 'theirs')
      expect((await granted(slow, 5, { limit: 100 })).granted).to.equal(5)
      end(slow, lost)
      expect((await granted(slow, 5, { limit: 100 })).granted).to.equal(5)
    })
  }

  it('are taken back at once from who is known to be gone, and when the clock was set back', async () => {
    const gone = start({ holder: 'gone' })
    await granted(gone, 90, { limit: 100 })
    const grant = await granted(start({ isGone: (holder) => holder === 'gone' }), 90, { limit: 100 })
    expect(grant.granted).to.equal(90)
    const early = start({ clock: () => site.world.now() - 86_400_000 })
    expect((await granted(early, 90, { limit: 100 })).granted).to.equal(90)
    site.gates = [early]
  })

  it('of processes that are gone are counted from what was stored right behind them', async () => {
    const { reservation } = await granted(start(), 40, { limit: 100 })
    site.gates = []
    await site.stream.append([
      makeEvent('stored', { counts: { ...noCounts, spans: 40 }, reservation, receivedAt: site.world.now() }),
    ])
    const grant = await granted(start({ isGone: () => true }), 100, { limit: 100 })
    expect(grant).to.include({ granted: 60, used: 40 })
  })

  it('of processes that are gone are counted up to their end, however much of others stands between', async () => {
    const { reservation } = await granted(start(), 40, { limit: 100 })
    site.gates = []
    const stored = (name: string, spans: number) =>
      makeEvent(name, { counts: { ...noCounts, spans }, reservation, receivedAt: site.world.now() })
    // More than is read at once, before and behind the first.
    for (const [name, spans] of [
      ['first', 25],
      ['last', 15],
    ] as const) {
      await site.stream.append(makeEvents(1_100, `before the ${name}`))
      await site.stream.append([stored(name, spans)])
    }
    const whole = site.stream
    let [reads, readsMax] = [0, 0]
    const read: Stream['read'] = (after, max) => {
      if (reads++ === 0) setImmediate(() => (reads = 0))
      readsMax = Math.max(readsMax, reads)
      return whole.read(after, max)
    }
    const timers = { ...createProcess(site.world).timers, turn: systemTimers.turn }
    const gate = start({ stream: { ...whole, read }, timers, isGone: () => true })
    const grant = await granted(gate, 100, { limit: 100 })
    expect(grant).to.include({ granted: 60, used: 40 })
    expect(readsMax, 'reads in one turn of the event loop, which others wait for').to.equal(1)
  })

  it('of processes that are gone are taken back beside one that is granted from, which stays whole', async () => {
    await granted(start(), 90)
    site.gates = []
    let isGone = false
    const gate = start({ isGone: () => isGone })
    await granted(gate, 10)
    const { open } = await ledger()
    isGone = true
    await site.world.until(site.world.sleep(2_000))
    expect(await ledger()).to.deep.equal({ spent: 0, open: open.slice(1) })
  })

  it('of processes that are gone are taken back by a sweep, though nobody asks', async () => {
    await granted(start(), 90, { limit: 100 })
    site.gates = []
    await site.world.until(start().sweep([acme, workspaceIdOf('globex')]))
    await site.world.until(site.world.sleep(allLimits.reservationTermMs + 2_000))
    expect(await ledger()).to.deep.equal({ spent: 0, open: [] })
    expect((await entries()).at(-1)?.[0]).to.equal('allowance.reclaimed')
  })

  it('of processes that are gone are taken back by a sweep also where the log answers slowly', async () => {
    await granted(start(), 90, { limit: 100 })
    site.gates = []
    const whole = site.stream
    const last: typeof whole.last = (subject) => site.world.sleep(1_500).then(() => whole.last(subject))
    await site.world.until(start({ stream: { ...whole, last } }).sweep([acme]))
    await site.world.until(site.world.sleep(allLimits.reservationTermMs + 20_000))
    expect(await ledger()).to.deep.equal({ spent: 0, open: [] })
  })

  it('are counted from the beginning in a log that was moved', async () => {
    // Of which the old log holds the beginning no more: all positions are lower in the new one.
    await site.stream.append([makeEvent('a'), makeEvent('b'), makeEvent('c')])
    const gate = start()
    for (const spans of [40, 10]) {
      const { reservation } = await granted(gate, spans, { limit: 100 })
      const event = { counts: { ...noCounts, spans }, reservation, receivedAt: site.world.now() }
      await site.stream.append([makeEvent(`${spans} before the move`, event)])
    }
    const moved = createMemoryStream({ partition: '0' })
    await moved.append((await readAll(site.stream)).slice(3))
    site.stream = moved
    site.gates = []
    const next = start({ isGone: () => true })
    expect(await granted(next, 100, { limit: 100 })).to.include({ granted: 50, used: 50 })
  })

  it('that were closed long ago, by who came no further, are taken back all the same', async () => {
    const asleep = { every: () => () => undefined, pause: () => new Promise<never>(() => {}), turn: async () => {} }
    const { reservation } = await granted(start({ timers: asleep }), 90, { limit: 100 })
    const subject = reservationSubject(acme, reservation)
    const closing = sealClosing(reservation, { workspaceId: acme, at: site.world.now() })
    await site.stream.append([closing], { subject, position: beforeAll })
    site.gates = []
    // By then the log takes the same closing for another one.
    await site.world.until(site.world.sleep(repeatWindowMs))
    expect(await granted(start(), 100, { limit: 100 })).to.include({ granted: 100, used: 0 })
  })

  it('are counted at the stop of their process, where that has failed before', async () => {
    let failures = 1
    beforeClosings(() => {
      if (failures-- > 0) throw new TransientError({ operation: 'append to', subject: 'the log' })
    })
    const failed = Promise.withResolvers<unknown>()
    const gate = start({ onFailure: failed.resolve })
    const grant = await granted(gate, 40, { limit: 100 })
    gate.doubt(grant)
    expect(await site.world.until(failed.promise)).to.be.instanceOf(TransientError)
    await site.world.until(gate.close())
    expect(await ledger()).to.deep.equal({ spent: 0, open: [] })
  })

  it('are taken back also where the log could not tell at first what was spent of them', async () => {
    await granted(start(), 90, { limit: 100 })
    site.gates = []
    let failures = 1
    beforeClosings(() => {
      if (failures-- > 0) throw new TransientError({ operation: 'append to', subject: 'the log' })
    })
    expect((await granted(start({ isGone: () => true }), 90, { limit: 100 })).granted).to.equal(90)
    expect(failures).to.equal(-1)
  })

  it('of unknown outcome are counted once more where the log could not tell at first', async () => {
    let failures = 1
    beforeClosings(() => {
      if (failures-- > 0) throw new TransientError({ operation: 'append to', subject: 'the log' })
    })
    const gate = start()
    gate.doubt(await granted(gate, 40, { limit: 100 }))
    await site.world.until(site.world.sleep(2_000))
    expect(failures).to.equal(-1)
    expect(await ledger()).to.deep.equal({ spent: 0, open: [] })
  })

  it('of unknown outcome are counted and given back before their process has stopped', async () => {
    beforeClosings(() => site.world.sleep(100))
    const gate = start()
    gate.doubt(await granted(gate, 40, { limit: 100 }))
    await site.world.until(gate.close())
    expect(await ledger()).to.deep.equal({ spent: 0, open: [] })
  })

  it('of unknown outcome are not taken for spent while they are counted', async () => {
    const counting = Promise.withResolvers<void>()
    beforeClosings(() => counting.promise)
    const gate = start()
    gate.doubt(await granted(gate, 40, { limit: 100 }))
    await spend(gate, await granted(gate, 10, { limit: 100 }), 'stored')
    counting.resolve()
    expect(await granted(gate, 100, { limit: 100 })).to.include({ granted: 90, used: 10 })
  })

  it('of unknown outcome stay open for the requests that still run under them', async () => {
    const gate = start()
    const [lost, slow] = [await granted(gate, 10), await granted(gate, 20)]
    expect(slow.reservation).to.equal(lost.reservation)
    gate.doubt(lost)
    await site.world.until(site.world.sleep(2_000))
    await spend(gate, slow, 'slow')
    await site.world.until(site.world.sleep(2_000))
    expect(await ledger()).to.deep.equal({ spent: 20, open: [] })
  })

  it('that were written without our being told are given back whole', async () => {
    const whole = site.stream
    let isCut = true
    site.stream = {
      ...whole,
      append: async (events, expected) => {
        const appended = await whole.append(events, expected)
        if (!isCut) return appended
        isCut = false
        throw new TransientError({ operation: 'append to', subject: 'the log' })
      },
    }
    const gate = start()
    expect(await rejection(granted(gate, 90, { limit: 100 }))).to.be.instanceOf(TransientError)
    expect((await ledger()).open).to.have.length(1)
    expect(await granted(gate, 100, { limit: 100 })).to.include({ granted: 100, used: 0 })
  })

  describe('in a log from before there were any', () => {
    const begin = (): Promise<void> =>
      beginLedgers({ stream: site.stream, clock: site.world.now, holder: 'first', newId })
    const old = (name: string, spans: number, receivedAt = site.world.now()) =>
      makeEvent(name, { receivedAt, counts: { ...noCounts, spans } })

    it('begin with the spans of the month that it holds, once', async () => {
      await site.stream.append([old('a', 30), old('b', 20), old('october', 7, Date.UTC(2026, 9, 31))])
      await site.stream.append([
        makeEvent('c', { workspaceId: workspaceIdOf('globex'), counts: { ...noCounts, spans: 5 } }),
      ])
      const noSpans = { workspaceId: workspaceIdOf('initech'), type: 'logs.received', counts: noCounts } as const
      await site.stream.append([makeEvent('d', noSpans)])
      await Promise.all([begin(), begin()])
      const whole = site.stream
      const head = await site.stream.head()
      site.stream = { ...whole, read: () => expect.fail('read once more') }
      await begin()
      site.stream = whole
      expect(await site.stream.head()).to.equal(head)
      expect(await site.stream.last(ledgerSubject(workspaceIdOf('initech'), '2026-11'))).to.equal(undefined)
      expect(await site.stream.last(ledgerSubject(acme, '2026-10')), 'of a month that is over').to.equal(undefined)
      expect(await ledger()).to.deep.equal({ spent: 50, open: [] })
      expect(await granted(start(), 60, { limit: 100 })).to.include({ granted: 50, used: 50 })
    })

    it('begin with those of all of it, also where that is more than is read at once', async () => {
      await site.stream.append([old('first', 30)])
      await site.stream.append(makeEvents(1_100).map((event) => ({ ...event, counts: noCounts })))
      await site.stream.append([old('last', 20)])
      await begin()
      expect(await ledger()).to.deep.equal({ spent: 50, open: [] })
    })

    it('do not begin while the log does not take what it was counted to hold', async () => {
      const whole = site.stream
      await whole.append([old('a', 30)])
      const lost = new TransientError({ operation: 'append to', subject: 'the log' })
      let appends = 0
      site.stream = {
        ...whole,
        append: (...given) => (appends++ === 0 ? Promise.reject(lost) : whole.append(...given)),
      }
      expect(await rejection(begin())).to.equal(lost)
      site.stream = whole
      await begin()
      expect(await ledger()).to.deep.equal({ spent: 30, open: [] })
    })
  })
})
