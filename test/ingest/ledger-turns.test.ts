import { expect } from 'chai'
import { limits as allLimits } from '#src/config.ts'
import type { Grant } from '#src/ingest/allowance.ts'
import { ConflictError, type Stream } from '#streams/stream.ts'
import { acme, reserving } from './reserving.ts'

describe('turns at the ledger of a month', () => {
  const site = reserving()
  const { start, asking, granted, spend } = site

  /** Appends to a log in which another process is always first, so many times for each event that is stored in the end. */
  function contested(times: number): Stream {
    const { stream } = site
    let left = times
    return {
      ...stream,
      append: async (events, expected) => {
        if (left-- > 0) throw new ConflictError(expected?.subject ?? '', 0)
        left = times
        return stream.append(events, expected)
      },
    }
  }

  it('are taken again where others were first, a hundred times for each that is won', async () => {
    const gate = start({ stream: contested(60) })
    // As where a plan has just changed: one turn is for one limit.
    const asked = [50_000, 60_000].map((limit) => gate.reserve(asking(10, { limit })))
    const grants = (await site.world.until(Promise.all(asked))) as Grant[]
    expect(grants.map(({ granted: spans, limit }) => [spans, limit])).to.deep.equal([
      [10, 50_000],
      [10, 60_000],
    ])
    for (const grant of grants) gate.release(grant)
  })

  it('end where others are always first, which is told to who waits', async () => {
    const gate = start({ stream: contested(150) })
    const [outcome] = await site.world.until(Promise.allSettled([gate.reserve(asking(1))]))
    expect(outcome).to.include({ status: 'rejected' }).and.have.property('reason').instanceOf(ConflictError)
  })

  it('count as used what runs under an earlier reservation of the same process', async () => {
    const gate = start()
    const running = await granted(gate, 50)
    await site.world.until(site.world.sleep(allLimits.reservationUseMs))
    const next = await granted(gate, 20)
    expect(next.reservation).not.to.equal(running.reservation)
    expect(next).to.include({ used: 50, usedBefore: 50 })
    await spend(gate, running, 'running')
    await spend(gate, next, 'next')
  })

  it('ask for no count where nothing has been spent', async () => {
    let looks = 0
    const gate = start({ counted: async () => void looks++ })
    const grant = await granted(gate, 200, { workspaceId: acme, limit: 100 })
    expect([grant.granted, looks]).to.deep.equal([100, 0])
    await spend(gate, grant, 'all')
  })

  it('wait for each count as long as for the first', async () => {
    const [limit, before] = [100, allLimits.heldSpansPollsMax - 1]
    let [looks, counts] = [0, 95]
    const gate = start({ counted: async () => (++looks % (before + 1) === 0 ? counts : undefined) })
    await spend(gate, await granted(gate, limit, { limit }), 'all')
    for (counts of [95, 97]) {
      const grant = await granted(gate, 10, { limit })
      expect(grant).to.include({ granted: limit - counts, used: counts })
      await spend(gate, grant, `from ${counts}`)
    }
  })

  it('refuse what is certainly not there also where too many reservations are open', async () => {
    const limits = { ...allLimits, reservationsOpenMax: 1 }
    const [one, other] = [start({ limits }), start({ limits })]
    await spend(one, await granted(one, 50), 'before the plan was changed')
    await site.world.until(site.world.sleep(2 * allLimits.reservationIdleMs))
    const held = await granted(other, 10)
    expect(await granted(one, 1, { limit: 40 })).to.include({ granted: 0, used: 50 })
    await spend(other, held, 'meanwhile')
  })

  it('give back at once what was left, where its request did not need it', async () => {
    const gate = start()
    const rest = await granted(gate, 200, { limit: 100 })
    expect(rest.granted).to.equal(100)
    gate.release(rest)
    await site.world.until(site.world.sleep(1))
    expect(await site.ledger()).to.deep.equal({ spent: 0, open: [] })
  })

  it('grant nothing to who was told to come again, though it comes free right then', async () => {
    const [one, other] = [start(), start()]
    const limit = 100
    const [theirs, own] = [await granted(one, 80, { limit }), await granted(other, 10, { limit })]
    expect(await site.reserve(other, 20, { limit })).to.equal('pending')
    one.release(theirs)
    await site.world.until(site.world.sleep(1))
    other.release(own)
    await site.world.until(site.world.sleep(allLimits.reservationIdleMs))
    expect(await site.ledger()).to.deep.equal({ spent: 0, open: [] })
  })

  it('count at once what is of unknown outcome', async () => {
    const gate = start()
    gate.doubt(await granted(gate, 10))
    await site.world.until(site.world.sleep(1))
    expect(await site.ledger()).to.deep.equal({ spent: 0, open: [] })
  })

  it('give back what was used for long enough, also of a workspace without a limit', async () => {
    const gate = start()
    await spend(gate, await granted(gate, 10, { limit: null }), 'unlimited')
    await site.world.until(site.world.sleep(allLimits.reservationIdleMs + 1_000))
    expect((await site.ledger()).open, 'nobody waits for the rest').to.have.length(1)
    await site.world.until(site.world.sleep(allLimits.reservationUseMs))
    expect(await site.ledger()).to.deep.equal({ spent: 10, open: [] })
  })
})
