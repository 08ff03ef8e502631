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
})
