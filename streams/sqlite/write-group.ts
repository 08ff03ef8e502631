import { crc32 } from 'node:zlib'
import type { DatabaseSync } from 'node:sqlite'
import { beforeAll, positionStep, type EventId, type Position } from '#src/events/envelope.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import { PermanentError } from '#src/lib/failure.ts'
import { appendedOf, withBeside, type Appended, type AppendedEvent, type Expected } from '../stream.ts'
import { createCut, type Cut } from './cut.ts'
import { createErase, type Erase } from './erase.ts'
import { createIdLookup, createIdTable, type Found } from './ids.ts'
import { rowCrc, sequenceOf } from './row.ts'

/** An event on its way to the writer: what the writer must know, the header as text, and the number of payload bytes. */
type PackedEvent = Readonly<{
  id: EventId
  workspaceId: WorkspaceId
  /** This event erases its workspace. */
  isErasing: boolean
  receivedAt: number
  subject: string | null
  header: string
  crc: number
  bytes: number
}>
export type PackedCall = Readonly<{
  events: readonly PackedEvent[]
  expected: Expected | null
}>
/** Calls that share a commit. `payloads` holds the payloads of all their events in order. It can be transferred to a thread. */
export type Group = Readonly<{ calls: readonly PackedCall[]; payloads: Uint8Array }>

/** The result of one call of a group; only `appended` has written anything. */
export type Outcome =
  | Readonly<{ kind: 'appended'; appended: Appended }>
  | Readonly<{ kind: 'conflict' }>
  | Readonly<{ kind: 'refused'; reason: string }>

export type Statements = Readonly<{
  begin(): void
  commit(): void
  rollback(): void
  head(): number
  headOfSubject(subject: string): Position
  insert(seq: number, event: PackedEvent, payload: Uint8Array): void
  lookup(id: EventId, at: number): Found | undefined
  forget(at: number, max: number): void
  cut: Cut
  erase: Erase
}>

export function prepare(database: DatabaseSync, file: string): Statements {
  const begin = database.prepare('BEGIN IMMEDIATE')
  const commit = database.prepare('COMMIT')
  const head = database.prepare('SELECT max(seq) AS seq FROM events')
  const headOfSubject = database.prepare('SELECT max(seq) AS seq FROM events WHERE subject = ?')
  const insert = database.prepare('INSERT INTO events (seq, crc, subject, header, payload) VALUES (?, ?, ?, ?, ?)')
  const ids = createIdTable(database)
  const cut = createCut(database)
  return {
    begin: () => void begin.run(),
    commit: () => void commit.run(),
    rollback: () => {
      // SQLite rolls back by itself after some errors.
      if (database.isTransaction) database.exec('ROLLBACK')
    },
    head: () => sequenceOf(head.get()),
    headOfSubject: (subject) => {
      const seq = sequenceOf(headOfSubject.get(subject))
      return seq > cut.mark() ? seq * positionStep : beforeAll
    },
    insert: (seq, event, payload) => {
      insert.run(seq, rowCrc(seq, event.header), event.subject, event.header, payload)
      ids.remember(event.id, event.receivedAt, seq)
    },
    lookup: createIdLookup(database),
    forget: ids.forget,
    cut,
    erase: createErase(database, ids, file),
  }
}

/** A call with the payloads of its events. */
type Call = PackedCall & Readonly<{ payloads: readonly Uint8Array[] }>

/** The calls of a group, with their payloads sliced from its bytes. */
function* unpack(group: Group): Generator<Call> {
  let offset = 0
  for (const call of group.calls) {
    const payloads = call.events.map(({ bytes }) => group.payloads.subarray(offset, (offset += bytes)))
    yield { ...call, payloads }
  }
}

type Plan = Readonly<{ refused: Outcome }> | Readonly<{ found: readonly (Found | undefined)[] }>

/** Decides about a call before writing any of it, so that calls in one transaction stay independent. */
function plan({ events, payloads, expected }: Call, { lookup, headOfSubject }: Statements): Plan {
  try {
    const damaged = events.find(({ crc }, index) => crc32(payloads[index] as Uint8Array) !== crc)
    if (damaged !== undefined) {
      return { refused: { kind: 'refused', reason: `the crc of event ${damaged.id} is not its payload’s` } }
    }
    const known = events.map(({ id, receivedAt }) => lookup(id, receivedAt))
    const found = withBeside(events, known)
    const retry = found.every((first) => first !== undefined)
    if (expected === null || retry || headOfSubject(expected.subject) === expected.position) return { found }
    return { refused: { kind: 'conflict' } }
  } catch (error) {
    // The header of an earlier event is damaged. That must not fail the other calls.
    if (error instanceof PermanentError) return { refused: { kind: 'refused', reason: error.message } }
    throw error
  }
}

function writeCall(
  { events, payloads }: Call,
  found: readonly (Found | undefined)[],
  head: number,
  { lookup, insert, erase }: Statements,
): Appended {
  let seq = head
  const written = new Set<EventId>()
  const workspaces = new Set<WorkspaceId>()
  const places = events.map((event, index): AppendedEvent => {
    const first = found[index] ?? (written.has(event.id) ? lookup(event.id, event.receivedAt) : undefined)
    if (first !== undefined) return { position: first.position, repeated: first.header }
    insert(++seq, event, payloads[index] as Uint8Array)
    written.add(event.id)
    if (!event.isErasing) workspaces.add(event.workspaceId)
    return { position: seq * positionStep }
  })
  for (const workspaceId of workspaces) erase.appended(workspaceId)
  return appendedOf(places)
}

/** Writes the calls of a group, within a transaction. */
export function writeGroup(
  group: Group,
  statements: Statements,
): Readonly<{ outcomes: readonly Outcome[]; head: number; written: number }> {
  const before = statements.head()
  let head = before
  let oldest = Number.POSITIVE_INFINITY
  const outcomes: Outcome[] = []
  for (const call of unpack(group)) {
    const planned = plan(call, statements)
    if ('refused' in planned) {
      outcomes.push(planned.refused)
      continue
    }
    const appended = writeCall(call, planned.found, head, statements)
    outcomes.push({ kind: 'appended', appended })
    head += call.events.length - appended.duplicates
    for (const { receivedAt } of call.events) oldest = Math.min(oldest, receivedAt)
  }
  // Proportional to what was written, so that forgetting keeps up, and bounded, so that no commit waits for it long.
  if (head > before) statements.forget(oldest, 256 + 2 * (head - before))
  return { outcomes, head, written: head - before }
}
