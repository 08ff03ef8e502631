import { expect } from 'chai'
import { limits as allLimits } from '#src/config.ts'
import {
  decodeLedgerEvent,
  ledgerAfter,
  ledgerSubject,
  reservationSubject,
  type LedgerEntry,
} from '#src/events/allowance.ts'
import { beforeAll, noCounts } from '#src/events/envelope.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import type { Grant, SpansAsked } from '#src/ingest/allowance.ts'
import {
  createReservedAllowance,
  type ReservedAllowance,
  type ReservedAllowanceOptions,
} from '#src/ingest/reserved-allowance.ts'
import { createMemoryStream } from '#streams/memory/stream.ts'
import type { Stream } from '#streams/stream.ts'
import { endingTurns } from '#test/support/ending-turns.ts'
import { makeEvent } from '#test/support/make-event.ts'
import { readAll } from '#test/support/read-all.ts'
import { createProcess, createWorld, type World } from '#test/support/virtual-world.ts'

export const acme = workspaceIdOf('acme')

type Site = {
  world: World
  /** The log that processes are started on. */
  stream: Stream
  /** The processes that end with the test. */
  gates: ReservedAllowance[]
}

/** For each test of a `describe` a log in virtual time, and processes that reserve spans in it. */
export function reserving() {
  const fresh = (): Site => ({
    world: createWorld(),
    stream: endingTurns(createMemoryStream({ partition: '0' })),
    gates: [],
  })
  const site = fresh()
  let made = 0
  beforeEach(() => {
    Object.assign(site, fresh())
    made = 0
  })
  afterEach(async () => {
    await site.world.until(Promise.all(site.gates.map((gate) => gate.close())))
    // Fails where turns did not end, of which a test need not notice anything.
    await site.stream.last('')
  })

  const newId = (): string => (++made).toString(16).padStart(32, '0')
  const start = (more: Partial<ReservedAllowanceOptions> = {}): ReservedAllowance => {
    const gate = createReservedAllowance({
      stream: site.stream,
      clock: site.world.now,
      ticks: site.world.now,
      holder: `process-${++made}`,
      newId,
      timers: createProcess(site.world).timers,
      random: () => 0.5,
      limits: allLimits,
      isGone: () => false,
      // As many as the ledger says, at least.
      counted: async () => Infinity,
      onFailure: () => undefined,
      ...more,
    })
    site.gates.push(gate)
    return gate
  }
  const asking = (spans: number, more: Partial<SpansAsked> = {}): SpansAsked => ({
    workspaceId: acme,
    spans,
    limit: 50_000,
    at: site.world.now(),
    ...more,
  })
  const reserve = (
    gate: ReservedAllowance,
    spans: number,
    more: Partial<SpansAsked> = {},
  ): Promise<Grant | 'pending'> => {
    const asked = asking(spans, more)
    return site.world.until(Promise.resolve(gate.take(asked) ?? gate.reserve(asked)))
  }
  const granted = async (gate: ReservedAllowance, spans: number, more: Partial<SpansAsked> = {}): Promise<Grant> => {
    const grant = await reserve(gate, spans, more)
    expect(grant).not.to.equal('pending')
    return grant as Grant
  }
  /** Stores the spans of a grant, as the recorder does. */
  const spend = async (gate: ReservedAllowance, grant: Grant, name: string): Promise<void> => {
    const counts = { ...noCounts, spans: grant.granted }
    const event = makeEvent(name, { counts, reservation: grant.reservation, receivedAt: site.world.now() })
    const expected = { subject: reservationSubject(acme, grant.reservation), position: beforeAll }
    await site.stream.append([event], expected)
    gate.settle(grant, event.id)
  }
  const ledger = async (month = '2026-11') =>
    ledgerAfter(await site.stream.last(ledgerSubject(acme, month)), site.stream.epoch)
  const entries = async (): Promise<readonly (readonly [string, LedgerEntry])[]> =>
    (await readAll(site.stream))
      .filter(({ type }) => /^allowance\.(re|counted)/.test(type))
      .map((event) => [event.type, decodeLedgerEvent(event)])

  return Object.assign(site, { newId, start, asking, reserve, granted, spend, ledger, entries })
}
