import type { Limits } from '#src/config.ts'
import type { OpenReservation } from '#src/events/allowance.ts'
import type { Clock, Ticks } from '#src/lib/clock.ts'
import type { ChunkLimits } from './decide-spans.ts'
import { createCounting } from './counting.ts'
import { createHoldings, type Holding } from './holdings.ts'
import type { MonthLedger, StandingLedger } from './ledger.ts'

type ReservationLimits = ChunkLimits &
  Pick<
    Limits,
    | 'reservationUseMs'
    | 'reservationIdleMs'
    | 'reservationTermMs'
    | 'reservationsOpenMax'
    | 'heldSpansPollMs'
    | 'heldSpansPollsMax'
    | 'appendQueueEventsMax'
  >

export type RoundOptions = Readonly<{
  ledger: MonthLedger
  /** The unique name of this process. */
  holder: string
  clock: Clock
  ticks: Ticks
  newId: () => string
  limits: ReservationLimits
  /** Whether a holder is certainly dead. A mistake only costs that holder a new reservation. */
  isGone: (holder: string) => boolean
  /** A failure that no request waits for. The work is tried again. */
  onFailure: (error: unknown) => void
}>

type Ended = Readonly<{ id: string; spent: number }>
/** The ledger as read, and as it would be without ended reservations and with our own cut to what is granted. */
export type Round = Readonly<{
  standing: StandingLedger
  ended: readonly Ended[]
  open: readonly OpenReservation[]
  spent: number
}>

/**
 * Far from the limit, others hold parts of which they may use little. Counted as used, these would pass a warning's mark, and fall behind it
 * again when they are given back. Near it, others hold what their requests ask for.
 */
const usedIn = ({ open, spent }: Round, holder: string, isNear: boolean): number =>
  open.filter((each) => isNear || each.holder === holder).reduce((sum, { spans }) => sum + spans, spent)

/** The rounds of one month at its ledger. Each round reads it, decides, and appends at most one event. */
export function createRounds(options: RoundOptions, onCounted: () => void) {
  const { ledger, holder, clock, ticks, newId, limits, isGone, onFailure } = options
  const holdings = createHoldings(ticks, ledger.subject)
  const counting = createCounting(ledger, { onCounted, onFailure })
  let others: readonly OpenReservation[] = []

  const isOver = ({ holder, until }: OpenReservation): boolean => {
    const now = clock()
    // A time too far ahead was written before the clock was set back.
    return isGone(holder) || now >= until || until - now > 2 * limits.reservationTermMs
  }
  const isDrained = (holding: Holding): boolean => holding !== holdings.current() && holding.underWay === 0

  /** What was spent of a reservation, if it has ended. */
  const spentOf = ({ id, holder: owner }: OpenReservation): number | undefined => {
    const counted = counting.result(id)
    if (counted !== undefined || owner !== holder) return counted
    const holding = holdings.find(id)
    // Its event was written, but we never learned of it: nothing was granted from it.
    if (holding === undefined) return 0
    return isDrained(holding) && !holding.isDoubtful ? holding.granted : undefined
  }
  const sizeNow = (entry: OpenReservation): OpenReservation => {
    const holding = holdings.find(entry.id)
    return holding === undefined || holding === holdings.current() ? entry : { ...entry, spans: holding.granted }
  }

  /** Closes and counts the reservations whose end nobody can report. */
  const countWhatIsLeft = (): void => {
    for (const holding of holdings.all()) if (holding.isDoubtful && isDrained(holding)) counting.start(holding)
  }

  return {
    holdings,
    counting,
    countWhatIsLeft,
    /** Neither this process nor, as far as the ledger was read, any other holds spans. */
    isIdle: () => holdings.all().length === 0 && others.length === 0 && !counting.isBusy(),
    /** Resolves when everything unused can be returned. */
    retireAll: async (): Promise<void> => {
      holdings.retire()
      countWhatIsLeft()
      await counting.settled()
    },
    hasOver: () => others.some(isOver),
    hasEnded: () => counting.hasResults() || holdings.all().some((each) => isDrained(each) && !each.isDoubtful),

    /** `retires`: this process's holding cannot grant what is asked. */
    read: async (retires: () => boolean): Promise<Round> => {
      const standing = await ledger.read()
      if (retires()) holdings.retire()
      others = standing.open.filter((entry) => entry.holder !== holder)
      for (const entry of standing.open) if (entry.holder !== holder && isOver(entry)) counting.start(entry)
      const ids = new Set(standing.open.map(({ id }) => id))
      counting.keep(ids)
      // Another process has ended it: the log will refuse the running requests.
      for (const { id } of holdings.all()) if (!ids.has(id)) holdings.forget(id)
      const ended = standing.open.flatMap((entry) => {
        const spent = spentOf(entry)
        return spent === undefined ? [] : [{ id: entry.id, spent }]
      })
      const over = new Set(ended.map(({ id }) => id))
      const open = standing.open.filter(({ id }) => !over.has(id)).map(sizeNow)
      return { standing, ended, open, spent: ended.reduce((sum, { spent }) => sum + spent, standing.spent) }
    },

    /** Appends what has ended, and nothing else. */
    end: async ({ standing, ended, open, spent }: Round): Promise<void> => {
      const ours = new Set(holdings.all().map(({ id }) => id))
      const type = ended.every(({ id }) => ours.has(id)) ? 'allowance.returned' : 'allowance.reclaimed'
      await ledger.append(type, { ended, spent, open }, standing.position)
      for (const { id } of ended) holdings.forget(id)
    },

    reserve: async (round: Round, spans: number, limit: number | null, isNear: boolean): Promise<void> => {
      const { standing, ended, open, spent } = round
      const id = newId()
      const fresh = { id, spans, holder, until: clock() + limits.reservationTermMs, since: null }
      const said = { reserved: { id, spans, limit }, ended, spent, open: [...open, fresh] }
      const since = await ledger.append('allowance.reserved', said, standing.position)
      for (const { id } of ended) holdings.forget(id)
      holdings.add({ id, limit, since, usedBefore: usedIn(round, holder, isNear), isNear, spans })
    },
  }
}

export type Rounds = ReturnType<typeof createRounds>
