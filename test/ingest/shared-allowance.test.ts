import { expect } from 'chai'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import type { AllowanceGate, SpansAsked } from '#src/ingest/allowance.ts'
import { createLocalAllowance } from '#src/ingest/local-allowance.ts'
import {
  createAllowanceService,
  createForwardedAllowance,
  type AllowanceAnswer,
  type AllowanceCall,
} from '#src/ingest/shared-allowance.ts'
import { TransientError } from '#src/lib/failure.ts'

const asked = (eventId: string, spans: number): SpansAsked => ({
  workspaceId: workspaceIdOf('acme'),
  eventId,
  spans,
  limit: 10,
  at: Date.UTC(2026, 10, 21),
})

describe('an allowance asked from other processes', () => {
  /** A service and two clients of it; everything between them is written as JSON. */
  function connect(options: Partial<Parameters<typeof createLocalAllowance>[0]> = {}) {
    const gate = createLocalAllowance({
      usedSpans: async () => 0,
      isStored: async () => true,
      clock: () => 0,
      ...options,
    })
    const clients = new Map<number, ReturnType<typeof createForwardedAllowance>>()
    const service = createAllowanceService({
      gate,
      send: (client, answer) => clients.get(client)?.answer(JSON.parse(JSON.stringify(answer)) as AllowanceAnswer),
      report: (error) => {
        throw error
      },
    })
    const client = (id: number): AllowanceGate => {
      const made = createForwardedAllowance((call) =>
        service.serve(id, JSON.parse(JSON.stringify(call)) as AllowanceCall),
      )
      clients.set(id, made)
      return made.gate
    }
    return { gate, service, one: client(1), two: client(2) }
  }

  it('grants, counts and frees as one gate for all', async () => {
    const { gate, one, two } = connect()
    const first = await one.reserve(asked('a', 6))
    expect(first).to.deep.include({ granted: 6, used: 0 })
    const waiting = two.reserve(asked('b', 6))
    await one.settle(first === 'pending' ? '' : first.reservation)
    const second = await waiting
    expect(second).to.deep.include({ granted: 4, used: 6 })
    await two.release(second === 'pending' ? '' : second.reservation)
    expect(await gate.reserve(asked('c', 6))).to.deep.include({ granted: 4, used: 6 })
  })

  it('asks for an unlimited plan as such', async () => {
    const { one } = connect()
    expect(await one.reserve({ ...asked('a', 1_000), limit: null })).to.deep.include({ granted: 1_000 })
  })

  it('says pending for the time of a doubt', async () => {
    const { one, two } = connect({ isStored: async () => false })
    const first = await one.reserve(asked('a', 6))
    await one.doubt(first === 'pending' ? '' : first.reservation)
    expect(await two.reserve(asked('b', 6))).to.equal('pending')
  })

  it('fails as the gate fails, as something that passes', async () => {
    const { one } = connect({ usedSpans: () => Promise.reject(new Error('the index is gone')) })
    const failure = await one.reserve(asked('a', 6)).catch((error: unknown) => error)
    expect(failure).to.be.instanceOf(TransientError)
    expect(String(failure)).to.include('the index is gone')
  })

  for (const isStored of [true, false]) {
    it(`leaves what a client held when it ended to the log: ${isStored ? 'stored' : 'not stored'}`, async () => {
      let now = 0
      const { service, one, two } = connect({ isStored: async () => isStored, clock: () => now })
      await one.reserve(asked('a', 6))
      service.forget(1)
      now = 3_600_000
      expect(await two.reserve(asked('b', 6))).to.deep.include(
        isStored ? { granted: 4, used: 6 } : { granted: 6, used: 0 },
      )
    })
  }

  it('takes back what is granted to a client that has ended meanwhile', async () => {
    const loaded = Promise.withResolvers<number>()
    const { service, one, two } = connect({ usedSpans: () => loaded.promise })
    void one.reserve(asked('a', 6))
    service.forget(1)
    const other = two.reserve(asked('b', 6))
    loaded.resolve(0)
    expect(await other).to.deep.include({ granted: 6 })
  })
})
