import { ConflictError } from '#streams/stream.ts'
import { nothingGranted, type AllowanceGate, type Grant } from './allowance.ts'
import { createCounting } from './counting.ts'
import { createHoldings, type Holdings } from './holdings.ts'
import { countDoubtful, isOver, takeTurn, type Month, type MonthOptions } from './ledger-turn.ts'
import { createRecount } from './recount.ts'
import { createBell, createWaiting } from './span-waiters.ts'

export type MonthAllowance = AllowanceGate &
  Pick<Holdings, 'isUntold'> &
  Readonly<{
    /** Reads what others hold, to take back what dead processes left. */
    look(): Promise<void>
    /** Call it about every half second: returns what is unused, and takes back what dead processes left. */
    tick(): void
    /** Nothing is held, waited for, or left to take back, and nothing is known that the next request needs. */
    isIdle(): boolean
    /** Resolves when everything unused has been returned, or cannot be returned now. */
    giveBack(): Promise<void>
  }>

const conflictsMax = 100
const conflictPauseMaxMs = 20

/** `next`: begins the next turn; undefined when there is nothing to do. */
type Work = Readonly<{ next: () => Promise<void> | undefined; onFailure: (error: unknown) => void }>

/** Takes one turn after another while there is work. A turn that another process won is repeated. */
function createLoop({ timers, random, signal }: MonthOptions, { next, onFailure }: Work) {
  let running: Promise<void> | undefined
  const again = async (conflicts: number, error: unknown): Promise<void> => {
    if (!(error instanceof ConflictError) || conflicts > conflictsMax) throw error
    await timers.pause(random() * conflictPauseMaxMs, signal)
  }
  const work = async (): Promise<void> => {
    try {
      let conflicts = 0
      for (let turn = next(); turn !== undefined; turn = next()) {
        try {
          await turn
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

/** Grants to the first waiting requests what this process holds. */
function serve({ waiting, holdings }: Month): void {
  for (let first = waiting.first(); first !== undefined; first = waiting.first()) {
    if (!holdings.canGrant(first.asked)) return
    waiting.shift()
    first.resolve(holdings.grant(first.asked))
  }
}

/** Whether the ledger is to be told of the end of a reservation. */
const hasEnded = ({ holdings, counting }: Month): boolean =>
  counting.hasResults() || holdings.all().some((each) => holdings.isDrained(each) && !each.isDoubtful)

/** Neither this process nor, as far as the ledger was read, any other holds spans or waits for some. */
const isAtRest = ({ waiting, holdings, counting, others }: Month): boolean =>
  waiting.isEmpty() && holdings.all().length === 0 && others.length === 0 && !counting.isBusy()

function openMonth(options: MonthOptions, onCounted: () => void): Month {
  const { ledger, ticks, timers, limits, onFailure, signal } = options
  return {
    ...options,
    holdings: createHoldings({ ledger: ledger.subject, ticks, limits }),
    counting: createCounting(ledger, { onCounted, onFailure }),
    recount: createRecount(options),
    waiting: createWaiting(limits.appendQueueEventsMax),
    bell: createBell(timers, signal),
    others: [],
  }
}

/** Returns everything unused, and tells who waits to come again. */
async function giveBack(month: Month, run: () => Promise<void>): Promise<void> {
  const { waiting, holdings, counting } = month
  waiting.disappoint(0)
  // A turn that is under way may still reserve for who waited.
  await run()
  holdings.retire()
  countDoubtful(month)
  await counting.settled()
  await run()
}

/**
 * One month of one workspace, as this process uses it. It reserves spans in the month's ledger, grants them to requests in the order they
 * ask, and records how each reservation ended. The log enforces the limit: a ledger event is appended only if the ledger is still as it was
 * read, and spans only while their reservation is open.
 */
export function createMonthAllowance(options: MonthOptions): MonthAllowance {
  const month = openMonth(options, () => {
    bell.ring()
    void run.start()
  })
  const { holdings, counting, waiting, bell, onFailure } = month
  let isLookDue = false

  const hasWork = (): boolean => !waiting.isEmpty() || isLookDue || hasEnded(month)
  const run = createLoop(options, {
    next: () => {
      serve(month)
      if (!hasWork()) return undefined
      isLookDue = false
      return takeTurn(month)
    },
    onFailure: (error) => (waiting.isEmpty() ? onFailure(error) : waiting.fail(error)),
  })

  /** A request has ended. Near the limit others may wait for the unused rest, and unknown outcomes are settled at once. */
  const afterRequest = ({ reservation }: Grant): void => {
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
      return waiting.isEmpty() && holdings.canGrant(asked) ? holdings.grant(asked) : undefined
    },
    reserve: async (asked) => {
      const grant = waiting.join(asked)
      void run.start()
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
      return run.start()
    },
    tick: () => {
      holdings.retireUnused()
      countDoubtful(month)
      if (month.others.some((each) => isOver(month, each))) isLookDue = true
      if (hasWork()) void run.start()
    },
    isUntold: holdings.isUntold,
    isIdle: () => !run.isRunning() && isAtRest(month) && !month.recount.isInVain(),
    giveBack: () => giveBack(month, run.start),
  }
}
