import type { Limits } from '#src/config.ts'
import type { OpenReservation } from '#src/events/allowance.ts'
import type { Clock, Ticks } from '#src/lib/clock.ts'
import type { Timers } from '#src/lib/timers.ts'
import { nothingGranted } from './allowance.ts'
import type { Counting } from './counting.ts'
import { decideSpans, type ChunkLimits, type SpanDecision } from './decide-spans.ts'
import type { HoldingLimits, Holdings } from './holdings.ts'
import type { MonthLedger, StandingLedger } from './ledger.ts'
import type { Recount, RecountLimits, RecountOptions } from './recount.ts'
import type { Bell, Waiting } from './span-waiters.ts'

type ReservationLimits = ChunkLimits &
  HoldingLimits &
  RecountLimits &
  Pick<Limits, 'reservationTermMs' | 'reservationsOpenMax' | 'appendQueueEventsMax'>

export type MonthOptions = Pick<RecountOptions, 'counted'> &
  Readonly<{
    ledger: MonthLedger
    /** The unique name of this process. */
    holder: string
    clock: Clock
    ticks: Ticks
    timers: Timers
    random: () => number
    newId: () => string
    limits: ReservationLimits
    /** Whether a holder is certainly dead. A mistake only costs that holder a new reservation. */
    isGone: (holder: string) => boolean
    /** A failure that no request waits for. The work is tried again. */
    onFailure: (error: unknown) => void
    /** Ends every pause. Abort it before `giveBack`, which tells those who wait to come again. */
    signal: AbortSignal
  }>

/** What this process knows of one month of one workspace. */
export type Month = MonthOptions &
  Readonly<{ holdings: Holdings; counting: Counting; recount: Recount; waiting: Waiting; bell: Bell }> & {
    /** The open reservations of other processes, as last read. */
    others: readonly OpenReservation[]
  }

/** The ledger as it was read, and as this process would write it: without ended reservations, and with our own reduced to what was granted. */
type Turn = Readonly<{
  standing: StandingLedger
  ended: readonly Readonly<{ id: string; spent: number }>[]
  open: readonly OpenReservation[]
  spent: number
}>

const sumOf = (open: readonly OpenReservation[]): number => open.reduce((sum, { spans }) => sum + spans, 0)

/** Whether a reservation of another process counts as abandoned. */
export function isOver({ clock, isGone, limits }: Month, { holder, until }: OpenReservation): boolean {
  const now = clock()
  // A time too far ahead was written before the clock was set back.
  return isGone(holder) || now >= until || until - now > 2 * limits.reservationTermMs
}

/** Closes and counts this process's own reservations of unknown outcome, once no request runs under them. */
export function countDoubtful({ holdings, counting }: Month): void {
  for (const holding of holdings.all()) if (holding.isDoubtful && holdings.isDrained(holding)) counting.start(holding)
}

/** What was spent of a reservation, if it has ended. */
function spentOf({ holdings, counting, holder }: Month, entry: OpenReservation): number | undefined {
  const counted = counting.result(entry.id)
  if (counted !== undefined || entry.holder !== holder) return counted
  const holding = holdings.find(entry.id)
  // The event was written, but this process never learned of it, so it granted nothing from it.
  if (holding === undefined) return 0
  return holdings.isDrained(holding) && !holding.isDoubtful ? holding.granted : undefined
}

function turnOf(month: Month, standing: StandingLedger): Turn {
  const { holdings } = month
  const ended = standing.open.flatMap((entry) => {
    const spent = spentOf(month, entry)
    return spent === undefined ? [] : [{ id: entry.id, spent }]
  })
  const over = new Set(ended.map(({ id }) => id))
  const open = standing.open
    .filter(({ id }) => !over.has(id))
    .map((entry) => {
      const holding = holdings.find(entry.id)
      return holding === undefined || holding === holdings.current() ? entry : { ...entry, spans: holding.granted }
    })
  return { standing, ended, open, spent: ended.reduce((sum, { spent }) => sum + spent, standing.spent) }
}

async function begin(month: Month): Promise<Turn> {
  const { ledger, holder, holdings, counting, waiting } = month
  const standing = await ledger.read()
  // The current holding cannot grant what is waited for.
  if (!waiting.isEmpty()) holdings.retire()
  const others = standing.open.filter((entry) => entry.holder !== holder)
  month.others = others
  for (const entry of others) if (isOver(month, entry)) counting.start(entry)
  const ids = new Set(standing.open.map(({ id }) => id))
  counting.keep(ids)
  // Another process has ended it: the log will refuse the running requests.
  for (const { id } of holdings.all()) if (!ids.has(id)) holdings.forget(id)
  return turnOf(month, standing)
}

/** Appends what has ended, and nothing else. */
async function end({ ledger, holdings }: Month, { standing, ended, open, spent }: Turn): Promise<void> {
  const isOurs = ended.every(({ id }) => holdings.find(id) !== undefined)
  const type = isOurs ? 'allowance.returned' : 'allowance.reclaimed'
  await ledger.append(type, { ended, spent, open }, standing.position)
  for (const { id } of ended) holdings.forget(id)
}

/**
 * The spans used, for warnings. Far from the limit, other processes may use little of what they hold: counted as used, it could pass a warning mark,
 * and fall behind it again when it is returned. Near the limit they hold only what their requests ask for.
 */
const usedIn = ({ open, spent }: Turn, holder: string, isNear: boolean): number =>
  spent + sumOf(open.filter((each) => isNear || each.holder === holder))

type Reserved = Readonly<{ spans: number; limit: number | null; isNear: boolean }>

/** Appends a new reservation, from which this process grants from then on, with what has ended. */
async function reserve(month: Month, turn: Turn, { spans, limit, isNear }: Reserved): Promise<void> {
  const { ledger, holder, clock, newId, limits, holdings } = month
  const { standing, ended, open, spent } = turn
  const id = newId()
  const fresh = { id, spans, holder, until: clock() + limits.reservationTermMs, since: null }
  const said = { reserved: { id, spans, limit }, ended, spent, open: [...open, fresh] }
  const since = await ledger.append('allowance.reserved', said, standing.position)
  for (const { id } of ended) holdings.forget(id)
  holdings.add({ id, limit, since, usedBefore: usedIn(turn, holder, isNear), isNear, spans })
}

/** Before refusing anything: does less count than the ledger says, because a request is twice in the log? */
async function correct({ ledger, recount }: Month, { open, spent, position }: StandingLedger) {
  if (open.length > 0 || spent === 0) return 'right'
  const count = await recount.ask(position)
  if (count === 'later') return 'later'
  if (count === undefined || count >= spent) return 'right'
  recount.know(await ledger.append('allowance.counted', { ended: [], spent: count, open: [] }, position), count)
  return 'corrected'
}

/** Grants the first request what is left, which is less than it asks for. */
async function refuse(month: Month, turn: Turn, spans: number, limit: number | null): Promise<void> {
  const { holdings, waiting, bell, limits } = month
  if (turn.ended.length > 0) return end(month, turn)
  const count = await correct(month, turn.standing)
  if (count === 'corrected') return undefined
  if (count === 'later') {
    await bell.wait(limits.heldSpansPollMs)
    return undefined
  }
  if (spans > 0) await reserve(month, turn, { spans, limit, isNear: true })
  const first = waiting.shift()
  first?.resolve(spans > 0 ? holdings.grant({ ...first.asked, spans }) : nothingGranted(turn.spent, limit))
}

async function waitForOthers(month: Month, turn: Turn): Promise<void> {
  const { waiting, bell, limits } = month
  if (turn.ended.length > 0) return end(month, turn)
  countDoubtful(month)
  if (!(await bell.wait(limits.heldSpansPollMs))) waiting.disappoint(limits.heldSpansPollsMax)
}

function decide({ waiting, limits }: Month, { open, spent }: Turn, limit: number | null): SpanDecision {
  const decision = decideSpans({ limit, spent, held: sumOf(open), asked: waiting.asked(limit) }, limits)
  const isFull = open.length >= limits.reservationsOpenMax
  return isFull && decision.kind === 'reserve' ? { kind: 'wait' } : decision
}

/**
 * One turn at the ledger: reads it, decides, and appends at most one event, for the first waiting requests as far as possible. Rejects with
 * ConflictError when another process was first.
 */
export async function takeTurn(month: Month): Promise<void> {
  const turn = await begin(month)
  const first = month.waiting.first()
  if (first === undefined) return turn.ended.length > 0 ? end(month, turn) : undefined
  const { limit } = first.asked
  const decision = decide(month, turn, limit)
  if (decision.kind === 'wait') return waitForOthers(month, turn)
  if (decision.kind === 'rest') return refuse(month, turn, decision.spans, limit)
  return reserve(month, turn, { ...decision, limit })
}
