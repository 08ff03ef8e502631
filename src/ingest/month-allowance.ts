import { ConflictError } from '#streams/stream.ts'
import type { Position } from '#src/events/envelope.ts'
import type { Timers } from '#src/lib/timers.ts'
import { nothingGranted, type Grant, type SpansAsked } from './allowance.ts'
import { decideSpans, type SpanDecision } from './decide-spans.ts'
import { canGrant, type Holding, type Holdings } from './holdings.ts'
import { createRounds, type Round, type RoundOptions, type Rounds } from './ledger-rounds.ts'
import { createBell, createWaiting, type Bell, type Waiting } from './span-waiters.ts'

export type MonthOptions = RoundOptions &
  Readonly<{
    timers: Timers
    random: () => number
    /**
     * Spans that count, of all events up to a position: a request that is twice in the log counts once. Undefined if that is not known for
     * certain.
     */
    counted: (position: Position) => Promise<number | undefined>
    /** When aborted, waiting requests are told so. */
    signal: AbortSignal
  }>

export type MonthAllowance = Pick<Holdings, 'settle' | 'release' | 'doubt' | 'isUntold'> &
  Readonly<{
    take(asked: SpansAsked): Grant | undefined
    reserve(asked: SpansAsked): Promise<Grant | 'pending'>
    /** Reads what others hold, to take back what dead processes left. */
    look(): Promise<void>
    /** Call it about every half second: returns what is unused, and takes back what dead processes left. */
    tick(): void
    /** Nothing is held, waited for, or left to take back. */
    isIdle(): boolean
    /** Resolves when everything unused has been returned, or cannot be returned now. */
    giveBack(): Promise<void>
  }>

const conflictsMax = 100
const conflictPauseMaxMs = 20
/** Between two looks at what counts, once it has been waited for in vain. */
const recountPauseMs = 1_000

/** One turn at the ledger: reads it, and serves the first waiting requests as far as possible. Rejects with ConflictError. */
function createTurn(
  { ticks, limits, ledger, counted, signal }: MonthOptions,
  { rounds, waiting, bell }: Readonly<{ rounds: Rounds; waiting: Waiting; bell: Bell }>,
): () => Promise<void> {
  const { holdings } = rounds
  /** The position at which it is known what counts; how often it was asked since in vain; when last, by `ticks`. */
  let [knownAt, inVain, askedAt]: [Position | undefined, number, number] = [undefined, 0, -Infinity]

  /** Before refusing anything: does less count than the ledger says, because a request is twice in the log? */
  const correct = async ({ standing }: Round): Promise<'right' | 'corrected' | 'unknown'> => {
    if (standing.open.length > 0 || standing.spent === 0 || knownAt === standing.position) return 'right'
    const isAwaited = inVain < limits.heldSpansPollsMax
    if (!isAwaited && ticks() - askedAt < recountPauseMs) return 'right'
    const spent = await counted(standing.position)
    askedAt = ticks()
    if (spent === undefined) {
      inVain++
      return isAwaited ? 'unknown' : 'right'
    }
    ;[knownAt, inVain] = [standing.position, 0]
    if (spent >= standing.spent) return 'right'
    knownAt = await ledger.append('allowance.counted', { ended: [], spent, open: [] }, standing.position)
    return 'corrected'
  }

  /** Grants the first request what is left, which is less than it asks for. */
  const refuse = async (round: Round, spans: number, limit: number | null): Promise<void> => {
    if (round.ended.length > 0) return rounds.end(round)
    const count = await correct(round)
    if (count === 'corrected') return undefined
    if (count === 'unknown') {
      await bell.wait(limits.heldSpansPollMs)
      return signal.aborted ? waiting.disappoint(0) : undefined
    }
    if (spans > 0) await rounds.reserve(round, spans, limit, true)
    const first = waiting.shift()
    first?.resolve(spans > 0 ? holdings.grant({ ...first.asked, spans }) : nothingGranted(round.spent, limit))
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

  return async () => {
    const round = await rounds.read(() => !waiting.isEmpty())
    const first = waiting.first()
    if (first === undefined) return round.ended.length > 0 ? rounds.end(round) : undefined
    const { limit } = first.asked
    const decision = decide(round, limit)
    if (decision.kind === 'wait') return waitForOthers(round)
    if (decision.kind === 'rest') return refuse(round, decision.spans, limit)
    return rounds.reserve(round, decision.spans, limit, decision.isNear)
  }
}

/** The grants from the current holding, and how long to keep it. */
function createServing({ ticks, limits }: MonthOptions, holdings: Holdings, waiting: Waiting) {
  const isWorn = ({ takenAt }: Holding): boolean => ticks() - takenAt >= limits.reservationUseMs
  /** Without a limit, nobody waits for unused spans. */
  const isUnused = ({ limit, underWay, usedAt }: Holding): boolean =>
    limit !== null && underWay === 0 && ticks() - usedAt >= limits.reservationIdleMs
  const mayGrant = (asked: SpansAsked): boolean => {
    const current = holdings.current()
    return canGrant(current, asked) && !isWorn(current)
  }
  return {
    mayGrant,
    /** Grants to the first waiting requests. */
    serve: (): void => {
      for (let first = waiting.first(); first !== undefined; first = waiting.first()) {
        if (!mayGrant(first.asked)) return
        waiting.shift()
        first.resolve(holdings.grant(first.asked))
      }
    },
    retireUnused: (): void => {
      const current = holdings.current()
      if (current !== undefined && (isWorn(current) || isUnused(current))) holdings.retire()
    },
  }
}

type Work = Readonly<{ hasWork: () => boolean; turn: () => Promise<void>; onFailure: (error: unknown) => void }>

/** Takes one turn after another while there is work. A turn that another process won is repeated. */
function createLoop({ timers, random, signal }: MonthOptions, { hasWork, turn, onFailure }: Work) {
  let running: Promise<void> | undefined
  const again = async (conflicts: number, error: unknown): Promise<void> => {
    if (!(error instanceof ConflictError) || conflicts > conflictsMax) throw error
    await timers.pause(random() * conflictPauseMaxMs, signal)
  }
  const work = async (): Promise<void> => {
    try {
      for (let conflicts = 0; hasWork();) {
        try {
          await turn()
          conflicts = 0
        } catch (error) {
          await again(++conflicts, error)
        }
      }
    } catch (error) {
      onFailure(error)
    } finally {
      running = undefined
    }
  }
  return {
    isRunning: () => running !== undefined,
    /** Resolves when nothing is left to do, or it cannot be done now. */
    start: (): Promise<void> => {
      // Deferred, so that it cannot end before `running` is set.
      running ??= Promise.resolve().then(work)
      return running
    },
  }
}

/**
 * One month of one workspace, as this process uses it. It reserves spans in the month's ledger, grants them to requests in the order they
 * ask, and records how each reservation ended. The log enforces the limit: a ledger event is appended only if the ledger is still as it was
 * read, and spans only while their reservation is open.
 */
export function createMonthAllowance(options: MonthOptions): MonthAllowance {
  const { timers, limits, onFailure, signal } = options
  const waiting = createWaiting(limits.appendQueueEventsMax)
  const bell = createBell(timers, signal)
  const rounds = createRounds(options, () => {
    bell.ring()
    void run.start()
  })
  const { holdings, counting } = rounds
  const turn = createTurn(options, { rounds, waiting, bell })
  const { mayGrant, serve, retireUnused } = createServing(options, holdings, waiting)
  let isLookDue = false

  const hasWork = (): boolean => !waiting.isEmpty() || isLookDue || rounds.hasEnded()
  const run = createLoop(options, {
    hasWork: () => {
      serve()
      return hasWork()
    },
    turn: () => {
      isLookDue = false
      return turn()
    },
    onFailure: (error) => {
      if (waiting.isEmpty()) onFailure(error)
      else waiting.fail(error)
    },
  })

  /** A request has ended. Near the limit others may wait for the unused rest, and unknown outcomes are settled at once. */
  const end = ({ reservation }: Grant, how: () => void): void => {
    how()
    bell.ring()
    const holding = holdings.find(reservation)
    if (holding === undefined || holding.underWay > 0) return
    if (holding.isDoubtful) counting.start(holding)
    else if (holding.isNear) {
      if (holding === holdings.current()) holdings.retire()
      void run.start()
    }
  }

  return {
    take: (asked) => {
      if (asked.spans === 0) return nothingGranted(0, asked.limit)
      return waiting.isEmpty() && mayGrant(asked) ? holdings.grant(asked) : undefined
    },
    reserve: async (asked) => {
      const grant = waiting.join(asked)
      void run.start()
      return grant
    },
    settle: (grant, eventId) => end(grant, () => holdings.settle(grant, eventId)),
    release: (grant) => end(grant, () => holdings.release(grant)),
    doubt: (grant) => end(grant, () => holdings.doubt(grant)),
    look: () => {
      isLookDue = true
      return run.start()
    },
    tick: () => {
      retireUnused()
      rounds.countWhatIsLeft()
      if (rounds.hasOver()) isLookDue = true
      if (hasWork()) void run.start()
    },
    isUntold: holdings.isUntold,
    isIdle: () => waiting.isEmpty() && !run.isRunning() && rounds.isIdle(),
    giveBack: async () => {
      await rounds.retireAll()
      await run.start()
    },
  }
}
