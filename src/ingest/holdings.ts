import type { Limits } from '#src/config.ts'
import type { EventId, Position } from '#src/events/envelope.ts'
import { present } from '#src/lib/assert.ts'
import type { Ticks } from '#src/lib/clock.ts'
import { markPassed, type Grant, type SpansAsked } from './allowance.ts'

/** A reservation of this process. */
type Holding = {
  readonly id: string
  /** The limit it was reserved under. */
  readonly limit: number | null
  /** As `usedAt`, by `Ticks`. */
  readonly takenAt: number
  /** Position of the ledger event that made it. */
  readonly since: Position
  /** Spans used in the month when it was made; near the limit, including those held by others. */
  readonly usedBefore: number
  /** Near the limit: unused spans are returned as soon as no request is running. */
  readonly isNear: boolean
  readonly spans: number
  /** Spans granted and not released: their requests are running, or they are in the log. */
  granted: number
  /** Grants whose requests are running. */
  underWay: number
  usedAt: number
  /** Events reported to be in the log under it. Of several copies of a request, one counts. */
  readonly stored: Set<EventId>
  /** Some outcome is unknown: what it spent can only be counted in the log, after it is closed. */
  isDoubtful: boolean
}

type NewHolding = Pick<Holding, 'id' | 'limit' | 'since' | 'usedBefore' | 'isNear' | 'spans'>

export type Holdings = Readonly<{
  all(): readonly Holding[]
  /** The holding that grants. The others only wait for their running requests to end. */
  current(): Holding | undefined
  /** Whether the current one can grant what is asked, under the limit as it is now. */
  canGrant(asked: SpansAsked): boolean
  find(id: string): Holding | undefined
  add(holding: NewHolding): void
  grant(asked: Pick<SpansAsked, 'spans' | 'isSilent'>): Grant
  /** Silent grants have passed a mark: the next one that is not silent has a warning to carry for them. */
  isUntold(): boolean
  /** Nothing more is granted from the current one. */
  retire(): void
  /** Retires the current one when it has been used for long enough, or when others may wait for what it does not use. */
  retireUnused(): void
  /** It grants nothing more, and none of its requests is running. */
  isDrained(holding: Holding): boolean
  forget(id: string): void
  settle(grant: Grant, eventId: EventId): void
  release(grant: Grant): void
  doubt(grant: Grant): void
}>

export type HoldingLimits = Pick<Limits, 'reservationUseMs' | 'reservationIdleMs'>
type HoldingsOptions = Readonly<{ ledger: string; ticks: Ticks; limits: HoldingLimits }>

const newHolding = (holding: NewHolding, now: number): Holding => ({
  ...holding,
  takenAt: now,
  usedAt: now,
  granted: 0,
  underWay: 0,
  stored: new Set(),
  isDoubtful: false,
})

/** What this process holds of one month's allowance. `ledger`: the subject of that month's ledger. */
export function createHoldings({ ledger, ticks, limits }: HoldingsOptions): Holdings {
  const holdings = new Map<string, Holding>()
  let current: Holding | undefined
  let usedAfter = Infinity
  let isUntold = false

  /** The holding of a grant whose request has ended; undefined if another process has ended its reservation, and so has counted it. */
  const end = ({ reservation }: Grant): Holding | undefined => {
    const holding = holdings.get(reservation)
    if (holding !== undefined) holding.underWay--
    return holding
  }
  const retire = (): void => {
    current = undefined
  }
  const isWorn = ({ takenAt }: Holding): boolean => ticks() - takenAt >= limits.reservationUseMs
  /** Without a limit, nobody waits for unused spans. */
  const isUnused = ({ limit, underWay, usedAt }: Holding): boolean =>
    limit !== null && underWay === 0 && ticks() - usedAt >= limits.reservationIdleMs
  return {
    all: () => [...holdings.values()],
    current: () => current,
    canGrant: ({ spans, limit }) =>
      current?.limit === limit && current.granted + spans <= current.spans && !isWorn(current),
    find: (id) => holdings.get(id),
    add: (holding) => {
      current = newHolding(holding, ticks())
      holdings.set(holding.id, current)
    },
    grant: ({ spans, isSilent = false }) => {
      const holding = present(current, 'spans are granted from a holding')
      const used = holding.usedBefore + holding.granted
      const usedBefore = Math.min(used, usedAfter)
      usedAfter = isSilent ? usedBefore : used + spans
      isUntold = isSilent && holding.limit !== null && markPassed(holding.limit, usedBefore, used + spans) !== undefined
      holding.granted += spans
      holding.underWay++
      holding.usedAt = ticks()
      return { granted: spans, limit: holding.limit, used, usedBefore, reservation: holding.id, ledger }
    },
    isUntold: () => isUntold,
    retire,
    retireUnused: () => {
      if (current !== undefined && (isWorn(current) || isUnused(current))) retire()
    },
    isDrained: (holding) => holding !== current && holding.underWay === 0,
    forget: (id) => {
      if (current?.id === id) retire()
      holdings.delete(id)
    },
    settle: (grant, eventId) => {
      const holding = end(grant)
      if (holding?.stored.has(eventId) === true) holding.granted -= grant.granted
      else holding?.stored.add(eventId)
    },
    release: (grant) => {
      const holding = end(grant)
      if (holding !== undefined) holding.granted -= grant.granted
    },
    doubt: (grant) => {
      const holding = end(grant)
      if (holding === undefined) return
      holding.isDoubtful = true
      if (holding === current) retire()
    },
  }
}
