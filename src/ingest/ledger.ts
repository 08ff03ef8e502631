import { ConflictError, type Stream } from '#streams/stream.ts'
import {
  ledgerAfter,
  ledgerSubject,
  reservationSubject,
  sealClosing,
  sealLedgerEvent,
  type Ledger,
  type LedgerEntry,
  type LedgerEventType,
  type Month,
} from '#src/events/allowance.ts'
import { beforeAll, type NewEvent, type Position } from '#src/events/envelope.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import { present } from '#src/lib/assert.ts'
import type { Clock } from '#src/lib/clock.ts'
import type { Timers } from '#src/lib/timers.ts'

export type LedgerOptions = Readonly<{
  stream: Stream
  clock: Clock
  /** The unique name of this process. */
  holder: string
  /** 32 hex characters at random. */
  newId: () => string
}>

type MonthLedgerOptions = LedgerOptions & Readonly<{ timers: Pick<Timers, 'turn'> }>

/** The state of a ledger. `position`: of its newest event; `beforeAll` if there is none. */
export type StandingLedger = Ledger & Readonly<{ position: Position }>
/** What to write; the other members of an entry are the same for everything a process writes. */
type Said = Omit<LedgerEntry, 'month' | 'epoch' | 'by'>

/** The ledger of one month of a workspace, as events of the workspace's stream. */
export type MonthLedger = Readonly<{
  subject: string
  read(): Promise<StandingLedger>
  /** Appends and returns the event's position. Rejects with ConflictError if another process was first. */
  append(type: LedgerEventType, said: Said, expected: Position): Promise<Position>
  /**
   * Ends a reservation, so that nobody can spend from it, and counts the spans in the log that were spent from it. Idempotent; several
   * processes may do it at once.
   */
  close(reservation: Readonly<{ id: string; since: Position }>): Promise<number>
}>

const readEventsMax = 1_000

type Spending = Readonly<{ id: string; from: Position; to: Position }>

/** Spans between two positions that were spent from a reservation. That may be much of the log, and a log may read without giving way to requests. */
async function countSpans({ stream, timers }: MonthLedgerOptions, { id, from, to }: Spending): Promise<number> {
  let spans = 0
  for (let position = from; position < to;) {
    const events = await stream.read(position, readEventsMax)
    for (const { reservation, counts } of events) if (reservation === id) spans += counts.spans
    position = present(events.at(-1), 'the log goes on up to a reservation’s end').position
    if (position < to) await timers.turn()
  }
  return spans
}

/** Appends the first event of a subject, unless another process has done so. */
export async function appendFirst(stream: Stream, event: NewEvent, subject: string): Promise<void> {
  try {
    await stream.append([event], { subject, position: beforeAll })
  } catch (error) {
    if (!(error instanceof ConflictError)) throw error
  }
}

export function createMonthLedger(options: MonthLedgerOptions, workspaceId: WorkspaceId, month: Month): MonthLedger {
  const { stream, clock, holder, newId } = options
  const subject = ledgerSubject(workspaceId, month)
  return {
    subject,
    read: async () => {
      const newest = await stream.last(subject)
      return { ...ledgerAfter(newest, stream.epoch), position: newest?.position ?? beforeAll }
    },
    append: async (type, said, expected) => {
      const entry = { ...said, month, epoch: stream.epoch, by: holder }
      const event = sealLedgerEvent(type, entry, { workspaceId, at: clock(), unique: newId() })
      const { last } = await stream.append([event], { subject, position: expected })
      return last
    },
    close: async ({ id, since }) => {
      const ofReservation = reservationSubject(workspaceId, id)
      await appendFirst(stream, sealClosing(id, { workspaceId, at: clock() }), ofReservation)
      const closed = present(await stream.last(ofReservation), 'a reservation that was closed stays closed')
      return countSpans(options, { id, from: since, to: closed.position })
    },
  }
}
