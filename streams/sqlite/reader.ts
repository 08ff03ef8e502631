import type { DatabaseSync, SQLOutputValue } from 'node:sqlite'
import { crcHolds, parseHeader } from '#src/events/codec.ts'
import {
  beforeAll,
  positionStep,
  type EventId,
  type Position,
  type RecordedEvent,
  type RecordedHeader,
} from '#src/events/envelope.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import type { PermanentError } from '#src/lib/failure.ts'
import { cutBefore, lostTail, readBytesMax, type FirstEvent } from '../stream.ts'
import { createCutMark } from './cut.ts'
import { closeTidily, type Disk } from './checkpoints.ts'
import { openForReading } from './open-log.ts'
import { damageOf, notedFailureOf } from './failure.ts'
import type { LogFile } from './log-file.ts'
import { createIsLeft } from './erase.ts'
import { createIdLookup } from './ids.ts'
import { rowCrc, sequenceOf } from './row.ts'

/** Reads a log over its own connection in the calling thread. The writer never makes it wait. */
export type LogReader = Readonly<{
  epoch: string
  read(after: Position, max: number): readonly RecordedEvent[]
  find(ids: readonly EventId[], now: number): ReadonlyMap<EventId, RecordedHeader>
  last(subject: string): RecordedEvent | undefined
  head(): Position
  first(): FirstEvent | undefined
  isLeft(workspaceId: WorkspaceId): boolean
  close(): void
}>

/** The event of a row; undefined if it was erased. Throws PermanentError if it is not what was written at this place. */
function eventOf(row: Record<string, SQLOutputValue>, seq: number, file: string): RecordedEvent | undefined {
  const damage = (hint: string): PermanentError => damageOf(file, { operation: `read event ${seq} of log`, hint })
  if (row['seq'] !== seq) throw damage(`it is missing: the next one is ${String(row['seq'])}`)
  const { crc, header, payload } = row
  if (typeof header !== 'string' || !(payload instanceof Uint8Array)) throw damage('its row is damaged')
  if (crc !== rowCrc(seq, header)) throw damage('the checksum of its header does not match')
  if (header === '' && payload.length === 0) return undefined
  const event = { ...parseHeader(header), payload, position: seq * positionStep }
  if (!crcHolds(event)) throw damage('the checksum of its payload does not match')
  return event
}

type Places = Readonly<{ head(): Position; cut(): number }>

function createRead(database: DatabaseSync, { file, partition }: LogFile, places: Places): LogReader['read'] {
  const select = database.prepare('SELECT seq, crc, header, payload FROM events WHERE seq > ? ORDER BY seq')
  const { head, cut } = places
  const readAfter = (sequence: number, max: number): readonly RecordedEvent[] => {
    const events: RecordedEvent[] = []
    let bytes = 0
    let seq = sequence
    for (const row of max > 0 ? select.iterate(sequence) : []) {
      try {
        const event = eventOf(row, ++seq, file)
        if (event === undefined) continue
        bytes += event.payload.length
        if (bytes > readBytesMax && events.length > 0) break
        events.push(event)
        if (events.length === max) break
      } catch (error) {
        // Returns the intact events before the damage first. The next read starts at the damage and reports it.
        if (events.length > 0) break
        throw error
      }
    }
    return events
  }
  return function read(after, max) {
    const gone = cut()
    const sequence = Math.floor(after / positionStep)
    if (after !== beforeAll && sequence < gone) throw cutBefore(partition, after, (gone + 1) * positionStep)
    try {
      const events = readAfter(Math.max(sequence, gone), max)
      if (events.length === 0 && max > 0 && head() < sequence * positionStep) throw lostTail(partition, after, head())
      return events
    } catch (error) {
      // It was cut between reading the mark and reading the rows.
      if (cut() !== gone) return read(after, max)
      throw error
    }
  }
}

export function createLogReader(log: LogFile, busyTimeoutMs: number, { bytesLeft }: Disk = {}): LogReader {
  const { database, epoch } = openForReading(log, busyTimeoutMs)
  const lookup = createIdLookup(database)
  const selectHead = database.prepare('SELECT max(seq) AS seq FROM events')
  const selectLast = database.prepare(
    'SELECT seq, crc, header, payload FROM events WHERE subject = ? ORDER BY seq DESC LIMIT 1',
  )
  const guard = <T>(operation: string, action: () => T): T => {
    try {
      return action()
    } catch (error) {
      throw notedFailureOf(error, operation, log.file)
    }
  }
  const head = (): Position => sequenceOf(selectHead.get()) * positionStep
  const cut = createCutMark(database)
  const selectFirst = database.prepare('SELECT seq, crc, header, payload FROM events WHERE seq > ? ORDER BY seq')
  const first = (): FirstEvent | undefined => {
    const gone = cut()
    for (const row of selectFirst.iterate(gone)) {
      const event = eventOf(row, Number(row['seq']), log.file)
      if (event === undefined) continue
      const { position, receivedAt } = event
      return { position, receivedAt, isCut: gone > 0 }
    }
    return undefined
  }
  const read = createRead(database, log, { head, cut })
  const isLeft = createIsLeft(database)
  return {
    epoch,
    head: () => guard('ask the head of log', head),
    first: () => guard('read log', first),
    isLeft: (workspaceId) => guard('search log', () => isLeft(workspaceId)),
    read: (after, max) => guard('read log', () => read(after, max)),
    find: (ids, now) =>
      guard('search log', () => {
        const found = new Map<EventId, RecordedHeader>()
        for (const id of ids) {
          const event = lookup(id, now)
          if (event !== undefined) found.set(id, { ...event.header, position: event.position })
        }
        return found
      }),
    last: (subject) =>
      guard('search log', () => {
        const row = selectLast.get(subject)
        return row === undefined || Number(row['seq']) <= cut() ? undefined : eventOf(row, Number(row['seq']), log.file)
      }),
    close: () => closeTidily({ database, file: log.file, bytesLeft }),
  }
}
