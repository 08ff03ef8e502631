import { ConflictError } from '#streams/stream.ts'
import type { Limits } from '#src/config.ts'
import type { OpenReservation } from '#src/events/allowance.ts'
import type { Position } from '#src/events/envelope.ts'
import type { Clock } from '#src/lib/clock.ts'
import { TransientError } from '#src/lib/failure.ts'
import type { Timers } from '#src/lib/timers.ts'
import { nothingGranted, type Grant, type SpansAsked } from './allowance.ts'
import { createCounting } from './counting.ts'
import { decideSpans, type ChunkLimits, type SpanDecision } from './decide-spans.ts'
import { canGrant, createHoldings, type Holding, type Holdings } from './holdings.ts'
import type { MonthLedger, StandingLedger } from './ledger.ts'

export type ReservationLimits = ChunkLimits &
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

export type MonthOptions = Readonly<{
  ledger: MonthLedger
  /** The name of this process, which no other process ever had. */
  holder: string
  clock: Clock
  timers: Timers
  random: () => number
  newId: () => string
  limits: ReservationLimits
  /** Whether a holder is surely no more. Being wrong costs that holder a new reservation, and nobody anything else. */
  isGone: (holder: string) => boolean
  /**
   * Spans that count, of all events up to a position: a request that the log holds twice counts once. Undefined when that is not
   * known for sure.
   */
  counted: (position: Position) => Promise<number | undefined>
  /** A failure behind nobody's request. What it was about is tried again. */
  onFailure: (error: unknown) => void
  /** Aborted: who waits is told so. */
  signal: AbortSignal
}>

export type MonthAllowance = Pick<Holdings, 'settle' | 'release' | 'doubt'> &
  Readonly<{
    take(asked: SpansAsked): Grant | undefined
    reserve(asked: SpansAsked): Promise<Grant | 'pending'>
    /** Looks at what others hold, to take back what they never will. */
    look(): Promise<void>
    /** To be called about once a second: gives back what is not in use, and takes back what others have left behind. */
    tick(): void
    /** Nothing is held, waited for, or to be taken back. */
    isIdle(): boolean
    /** Resolves when all that is not under way has been given back, or cannot be now. */
    giveBack(): Promise<void>
  }>

type Waiter = Readonly<{
  asked: SpansAsked
  resolve: (grant: Grant | 'pending') => void
  reject: (error: unknown) => void
}> & { polls: number }

type Ended = Readonly<{ id: string; spent: number }>
/** The ledger as read, and how it stands when what has ended is taken out and our own is as large as what is granted of it. */
type Round = Readonly<{
  standing: StandingLedger
  ended: readonly Ended[]
  open: readonly OpenReservation[]
  spent: number
}>

const conflictsMax = 100
const conflictPauseMaxMs = 20
const recountPauseMs = 1_000

/** Who waits for spans, in the order of asking. */
function createWaiting(waitingMax: number) {
  let waiting: Waiter[] = []
  return {
    isEmpty: () => waiting.length === 0,
    first: () => waiting[0],
    shift: () => waiting.shift(),
    join: (asked: SpansAsked): Promise<Grant | 'pending'> => {
      const hint = 'too many requests wait for spans that others hold'
      if (waiting.length >= waitingMax) throw new TransientError({ operation: 'reserve spans', subject: '', hint })
      return new Promise((resolve, reject) => waiting.push({ asked, resolve, reject, polls: 0 }))
    },
    /** What those in front ask for, as far as one limit holds for them. */
    asked: (limit: number | null): readonly number[] => {
      const other = waiting.findIndex(({ asked }) => asked.limit !== limit)
      return waiting.slice(0, other < 0 ? undefined : other).map(({ asked }) => asked.spans)
    },
    /** Nothing has come free meanwhile: who has waited for long enough is told to come again. */
    disappoint: (pollsMax: number): void => {
      for (const waiter of waiting) if (++waiter.polls >= pollsMax) waiter.resolve('pending')
      waiting = waiting.filter(({ polls }) => polls < pollsMax)
    },
    fail: (error: unknown): void => {
      const all = waiting
      waiting = []
      for (const { reject } of all) reject(error)
    },
  }
}

/** Something has come free, or may have: wakes who waits for it. */
function createBell({ timers, signal }: MonthOptions) {
  let ring = (): void => {}
  return {
    ring: () => ring(),
    /** True when it rang within the time. */
    wait: (ms: number): Promise<boolean> => {
      const rung = new Promise<boolean>((resolve) => {
        ring = () => resolve(true)
      })
      return Promise.race([rung, timers.pause(ms, signal).then(() => false)])
    },
  }
}

/** The rounds of one month at its ledger: each reads it, decides, and says at most one thing there. */
function createRounds(options: MonthOptions, onCounted: () => void) {
  const { ledger, holder, clock, newId, limits, isGone, onFailure } = options
  const holdings = createHoldings(clock, ledger.subject)
  const counting = createCounting(ledger, { onCounted, onFailure })
  let others: readonly OpenReservation[] = []

  const isOver = ({ holder, until }: OpenReservation): boolean => {
    const now = clock()
    // A time that lies too far ahead was written before the clock was set back.
    return isGone(holder) || now >= until || until - now > 2 * limits.reservationTermMs
  }
  const isDrained = (holding: Holding): boolean => holding !== holdings.current() && holding.underWay === 0

  /** What was spent of a reservation, when it has ended. */
  const spentOf = ({ id, holder: of }: OpenReservation): number | undefined => {
    const counted = counting.result(id)
    if (counted !== undefined || of !== holder) return counted
    const holding = holdings.find(id)
    // Its event was written and we were not told: nothing was ever granted of it.
    if (holding === undefined) return 0
    return isDrained(holding) && !holding.isDoubtful ? holding.granted : undefined
  }
  const sizeNow = (entry: OpenReservation): OpenReservation => {
    const holding = holdings.find(entry.id)
    return holding === undefined || holding === holdings.current() ? entry : { ...entry, spans: holding.granted }
  }

  return {
    holdings,
    counting,
    /** Closes and counts what nobody will ever say the end of. */
    countWhatIsLeft: (): void => {
      for (const holding of holdings.all()) if (holding.isDoubtful && isDrained(holding)) counting.start(holding)
    },
    /** By the ledger as it was last read. */
    othersHold: () => others.length > 0,
    hasOver: () => others.some(isOver),
    hasEnded: () => counting.hasResults() || holdings.all().some((each) => isDrained(each) && !each.isDoubtful),

    /** `retires`: what this process holds cannot grant what is asked. */
    read: async (retires: () => boolean): Promise<Round> => {
      const standing = await ledger.read()
      if (retires()) holdings.retire()
      others = standing.open.filter((entry) => entry.holder !== holder)
      for (const entry of standing.open) if (entry.holder !== holder && isOver(entry)) counting.start(entry)
      const ids = new Set(standing.open.map(({ id }) => id))
      counting.keep(ids)
      // Somebody else has ended it: what is under way will be refused by the log.
      for (const { id } of holdings.all()) if (!ids.has(id)) holdings.forget(id)
      const ended = standing.open.flatMap((entry) => {
        const spent = spentOf(entry)
        return spent === undefined ? [] : [{ id: entry.id, spent }]
      })
      const over = new Set(ended.map(({ id }) => id))
      const open = standing.open.filter(({ id }) => !over.has(id)).map(sizeNow)
      return { standing, ended, open, spent: ended.reduce((sum, { spent }) => sum + spent, standing.spent) }
    },

    /** Says what has ended, and nothing else. */
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
      const usedBefore = open.reduce((sum, each) => sum + each.spans, spent)
      holdings.add({ id, limit, since, usedBefore, isNear, spans })
    },
  }
}

/**
 * One month of one workspace, as this process sees and uses it. It reserves spans in the month's ledger, grants them to requests
 * in the order of asking, and says what became of each reservation. All that must hold, holds by the log: the ledger is appended
 * to only as it was read, and spans only while their reservation is open.
 */
export function createMonthAllowance(options: MonthOptions): MonthAllowance {
  const { clock, timers, random, limits, counted, onFailure, signal } = options
  const waiting = createWaiting(limits.appendQueueEventsMax)
  const bell = createBell(options)
  const rounds = createRounds(options, () => {
    bell.ring()
    void run()
  })
  const { holdings, counting } = rounds
  let running: Promise<void> | undefined
  let isLookDue = false
  let recount: Readonly<{ position: Position; at: number }> | undefined

  const isWorn = ({ takenAt }: Holding): boolean => clock() - takenAt >= limits.reservationUseMs
  const isUnused = ({ limit, underWay, usedAt }: Holding): boolean =>
    limit !== null && underWay === 0 && clock() - usedAt >= limits.reservationIdleMs

  const serve = (): void => {
    for (let first = waiting.first(); first !== undefined; first = waiting.first()) {
      if (!canGrant(holdings.current(), first.asked)) return
      waiting.shift()
      first.resolve(holdings.grant(first.asked.spans))
    }
  }

  /** Before anything is refused: whether less counts than the ledger says, because the log holds a request twice. */
  const correct = async ({ standing }: Round): Promise<boolean> => {
    if (standing.open.length > 0 || standing.spent === 0 || recount?.position === standing.position) return false
    if (recount !== undefined && clock() - recount.at < recountPauseMs) return false
    const spent = await counted(standing.position)
    recount = { position: spent === undefined ? 0 : standing.position, at: clock() }
    if (spent === undefined || spent >= standing.spent) return false
    await options.ledger.append('allowance.counted', { ended: [], spent, open: [] }, standing.position)
    return true
  }

  /** The first is granted what is left, which is less than it asks for. */
  const refuse = async (round: Round, spans: number, limit: number | null): Promise<void> => {
    if (round.ended.length > 0) return rounds.end(round)
    if (await correct(round)) return undefined
    if (spans > 0) await rounds.reserve(round, spans, limit, true)
    waiting.shift()?.resolve(spans > 0 ? holdings.grant(spans) : nothingGranted(round.spent))
  }

  const waitForOthers = async (round: Round): Promise<void> => {
    if (round.ended.length > 0) return rounds.end(round)
    rounds.countWhatIsLeft()
    if (!(await bell.wait(limits.heldSpansPollMs))) waiting.disappoint(signal.aborted ? 0 : limits.heldSpansPollsMax)
  }

  const decide = ({ open, spent }: Round, limit: number | null): SpanDecision => {
    const held = open.reduce((sum, { spans }) => sum + spans, 0)
    const decision = decideSpans({ limit, spent, held, asked: waiting.asked(limit) }, limits)
    const isFull = open.length >= limits.reservationsOpenMax
    return isFull && decision.kind === 'reserve' ? { kind: 'wait' } : decision
  }

  const round = async (): Promise<void> => {
    isLookDue = false
    const round = await rounds.read(() => !waiting.isEmpty())
    const first = waiting.first()
    if (first === undefined) return round.ended.length > 0 ? rounds.end(round) : undefined
    const { limit } = first.asked
    const decision = decide(round, limit)
    if (decision.kind === 'wait') return waitForOthers(round)
    if (decision.kind === 'rest') return refuse(round, decision.spans, limit)
    return rounds.reserve(round, decision.spans, limit, decision.isNear)
  }

  const hasWork = (): boolean => !waiting.isEmpty() || isLookDue || rounds.hasEnded()

  const work = async (): Promise<void> => {
    try {
      for (let conflicts = 0; ;) {
        serve()
        if (!hasWork()) return
        try {
          await round()
          conflicts = 0
        } catch (error) {
          if (!(error instanceof ConflictError) || ++conflicts > conflictsMax) throw error
          await timers.pause(random() * conflictPauseMaxMs, signal)
        }
      }
    } catch (error) {
      isLookDue = false
      if (waiting.isEmpty()) onFailure(error)
      else waiting.fail(error)
    } finally {
      running = undefined
    }
  }
  const run = (): Promise<void> => (running ??= work())

  /** A request is over: near the limit others may wait for what is left, and doubts are settled at once. */
  const afterRequest = ({ reservation }: Grant): void => {
    bell.ring()
    const holding = holdings.find(reservation)
    if (holding === undefined || holding.underWay > 0) return
    if (holding.isDoubtful) counting.start(holding)
    else if (holding.isNear) {
      if (holding === holdings.current()) holdings.retire()
      void run()
    }
  }

  return {
    take: (asked) => {
      if (asked.spans === 0) return nothingGranted(0)
      const current = holdings.current()
      if (!waiting.isEmpty() || !canGrant(current, asked) || isWorn(current)) return undefined
      return holdings.grant(asked.spans)
    },
    reserve: async (asked) => {
      const grant = waiting.join(asked)
      void run()
      return grant
    },
    settle: (grant, eventId) => {
      holdings.settle(grant, eventId)
      afterRequest(grant)
    },
    release: (grant) => {
      holdings.release(grant)
      afterRequest(grant)
    },
    doubt: (grant) => {
      holdings.doubt(grant)
      afterRequest(grant)
    },
    look: () => {
      isLookDue = true
      return run()
    },
    tick: () => {
      const current = holdings.current()
      if (current !== undefined && (isWorn(current) || isUnused(current))) holdings.retire()
      rounds.countWhatIsLeft()
      if (rounds.hasOver()) isLookDue = true
      if (hasWork()) void run()
    },
    isIdle: () =>
      waiting.isEmpty() &&
      running === undefined &&
      holdings.all().length === 0 &&
      !rounds.othersHold() &&
      !counting.isBusy(),
    giveBack: async () => {
      holdings.retire()
      rounds.countWhatIsLeft()
      await counting.settled()
      await run()
    },
  }
}
