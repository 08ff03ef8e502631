import type { EventId } from '#src/events/envelope.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import { assert } from '#src/lib/assert.ts'
import type { Clock } from '#src/lib/clock.ts'
import { monthOf, type AllowanceGate, type Grant, type Month, type SpansAsked } from './allowance.ts'

/** How long after its failure an append may still come through; the log's own time-outs are far shorter. */
const doubtMs = 60_000
/** More events than this in doubt: the log is down, and asking waits until it is back. */
const doubtsMax = 10_000

export type LocalAllowanceOptions = Readonly<{
  /** Spans of the month in the log when it was last read: at the start of this process, its only writer of telemetry. */
  usedSpans: (workspaceId: WorkspaceId, month: Month) => Promise<number>
  /** Whether the log holds the event; `at`: the time of its receipt, ms. */
  isStored: (eventId: EventId, at: number) => Promise<boolean>
  clock: Clock
}>

type Hold = {
  readonly month: MonthState
  readonly asked: SpansAsked
  readonly spans: number
  /** When the outcome of its append became unknown. */
  doubtedAt: number | undefined
  /** Another request with the same event has been settled: this one adds nothing. */
  isCounted: boolean
}
type Waiter = Readonly<{ asked: SpansAsked; resolve: (grant: Grant | 'pending') => void }>
type MonthState = {
  used: number
  held: number
  doubts: number
  holds: Map<string, Hold>
  waiting: Waiter[]
}

const newMonth = (used: number): MonthState => ({ used, held: 0, doubts: 0, holds: new Map(), waiting: [] })

/** Holds of one month and who waits for them. */
function createHolds(clock: Clock) {
  const all = new Map<string, Hold>()
  let made = 0

  const add = (month: MonthState, asked: SpansAsked, spans: number): Grant => {
    const used = month.used + month.held
    if (spans === 0) return { granted: 0, used, reservation: '' }
    const reservation = (++made).toString(36)
    const hold = { month, asked, spans, doubtedAt: undefined, isCounted: false }
    month.held += spans
    month.holds.set(reservation, hold)
    all.set(reservation, hold)
    return { granted: spans, used, reservation }
  }

  const drop = (reservation: string): Hold | undefined => {
    const hold = all.get(reservation)
    if (hold === undefined) return undefined
    all.delete(reservation)
    hold.month.holds.delete(reservation)
    hold.month.held -= hold.spans
    if (hold.doubtedAt !== undefined) hold.month.doubts--
    return hold
  }

  const ofEvent = (month: MonthState, eventId: EventId): [string, Hold][] =>
    [...month.holds].filter(([, { asked }]) => asked.eventId === eventId)

  /** What the month allows a request now, and whether that is final: a rest that somebody holds may come free again. */
  const allowed = (month: MonthState, asked: SpansAsked) => {
    // Of one event in doubt and its retry only one can be stored: they share their place.
    const doubted = month.doubts === 0 ? [] : ofEvent(month, asked.eventId)
    const own = doubted.find(([, { doubtedAt }]) => doubtedAt !== undefined)
    const heldByOthers = month.held - (own?.[1].spans ?? 0)
    const free = asked.limit === null ? Infinity : Math.max(0, asked.limit - month.used - heldByOthers)
    return { own, spans: Math.min(asked.spans, free), isFinal: asked.spans <= free || heldByOthers === 0 }
  }

  /** Answers those who wait, in order, as far as it is decided. */
  const answerWaiting = (month: MonthState): void => {
    for (let first = month.waiting[0]; first !== undefined; first = month.waiting[0]) {
      const { own, spans, isFinal } = allowed(month, first.asked)
      if (!isFinal && month.holds.size > month.doubts) return
      month.waiting.shift()
      if (isFinal && own !== undefined && spans >= own[1].spans) drop(own[0])
      first.resolve(isFinal ? add(month, first.asked, spans) : 'pending')
    }
  }

  const settle = (reservation: string): void => {
    const hold = drop(reservation)
    if (hold === undefined) return
    const { month } = hold
    month.used += hold.spans
    if (month.holds.size > 0) {
      for (const [other, same] of ofEvent(month, hold.asked.eventId)) {
        same.isCounted = true
        if (same.doubtedAt !== undefined) drop(other)
      }
    }
    answerWaiting(month)
  }

  const release = (reservation: string): void => {
    const hold = drop(reservation)
    if (hold !== undefined) answerWaiting(hold.month)
  }

  const doubt = (reservation: string): void => {
    const hold = all.get(reservation)
    if (hold === undefined) return
    if (hold.isCounted) return release(reservation)
    for (const [other, same] of ofEvent(hold.month, hold.asked.eventId)) {
      if (same.doubtedAt !== undefined) drop(other)
    }
    hold.doubtedAt = clock()
    hold.month.doubts++
    answerWaiting(hold.month)
  }

  return { answerWaiting, settle, release, doubt }
}

/**
 * The allowance for one process that writes to the log alone. Usage is read from the log once per workspace and month and
 * counted on from there, so that a restart after any crash begins with exactly what is stored.
 */
export function createLocalAllowance({ usedSpans, isStored, clock }: LocalAllowanceOptions): AllowanceGate {
  const months = new Map<string, Promise<MonthState>>()
  const holds = createHolds(clock)
  let newest: Month = ''

  const stateOf = (workspaceId: WorkspaceId, month: Month): Promise<MonthState> => {
    const name = `${month} ${workspaceId}`
    const known = months.get(name)
    if (known !== undefined) return known
    if (month > newest) {
      // The month before may still have requests under way; those before it are over.
      for (const old of months.keys()) if (old < newest) months.delete(old)
      newest = month
    }
    const loading = usedSpans(workspaceId, month).then(newMonth)
    months.set(name, loading)
    loading.catch(() => months.delete(name))
    return loading
  }

  const settleDoubts = async (month: MonthState): Promise<void> => {
    for (const [reservation, { asked, doubtedAt }] of month.holds) {
      if (doubtedAt === undefined) continue
      const isOver = clock() - doubtedAt > doubtMs
      if (await isStored(asked.eventId, asked.at)) holds.settle(reservation)
      else if (isOver) holds.release(reservation)
    }
  }

  return {
    reserve: async (asked) => {
      assert(Number.isSafeInteger(asked.spans) && asked.spans >= 0, 'spans are counted')
      const month = await stateOf(asked.workspaceId, monthOf(asked.at))
      if (month.doubts > 0) await settleDoubts(month)
      if (month.doubts >= doubtsMax) return 'pending'
      return new Promise((resolve) => {
        month.waiting.push({ asked, resolve })
        holds.answerWaiting(month)
      })
    },
    settle: async (reservation) => holds.settle(reservation),
    release: async (reservation) => holds.release(reservation),
    doubt: async (reservation) => holds.doubt(reservation),
  }
}
