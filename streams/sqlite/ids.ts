import { hash } from 'node:crypto'
import type { DatabaseSync } from 'node:sqlite'
import { parseHeader } from '#src/events/codec.ts'
import { positionStep, type EventHeader, type EventId, type Position } from '#src/events/envelope.ts'
import { repeatWindowMs } from '../stream.ts'

export type Found = Readonly<{ position: Position; header: EventHeader }>

/**
 * The repeat rule's index: a table of (bucket of receipt time, 48 bits of the id's hash, sequence). An equal hash proves nothing, so the id
 * is compared with the header the entry leads to. Buckets keep the inserts of an hour with millions of ids on a few pages, and old ids are
 * neighbours that can be removed together.
 */
const bucketMs = repeatWindowMs / 2
const reach = repeatWindowMs / bucketMs
const bucketOf = (at: number): number => Math.floor(at / bucketMs)
const hashOf = (id: EventId): number => Number.parseInt(hash('sha1', id, 'hex').slice(0, 12), 16)

/** Finds the newest event of an id whose receipt is less than an hour from `at` (ms). */
export function createIdLookup(database: DatabaseSync): (id: EventId, at: number) => Found | undefined {
  const buckets = Array.from({ length: 2 * reach + 1 }, () => '?').join(', ')
  const select = database.prepare(
    `SELECT ids.seq, events.header FROM ids JOIN events ON events.seq = ids.seq
     WHERE ids.hash = ? AND ids.bucket IN (${buckets}) ORDER BY ids.seq DESC`,
  )
  return (id, at) => {
    const around = Array.from({ length: 2 * reach + 1 }, (_, index) => bucketOf(at) - reach + index)
    for (const row of select.all(hashOf(id), ...around)) {
      const header = parseHeader(String(row['header']))
      if (header.id !== id || Math.abs(at - header.receivedAt) >= repeatWindowMs) continue
      return { position: Number(row['seq']) * positionStep, header }
    }
    return undefined
  }
}

export type IdTable = Readonly<{
  remember(id: EventId, receivedAt: number, seq: number): void
  /** Forgets the event at this sequence. */
  remove(id: EventId, receivedAt: number, seq: number): void
  /** Forgets at most `max` ids that no event received at `at` or later can repeat. */
  forget(at: number, max: number): void
}>

export function createIdTable(database: DatabaseSync): IdTable {
  const insert = database.prepare('INSERT INTO ids (bucket, hash, seq) VALUES (?, ?, ?)')
  const removeOne = database.prepare('DELETE FROM ids WHERE bucket = ? AND hash = ? AND seq = ?')
  const remove = database.prepare(
    `DELETE FROM ids WHERE (bucket, hash, seq) IN
     (SELECT bucket, hash, seq FROM ids WHERE bucket < ? ORDER BY bucket, hash, seq LIMIT ?)`,
  )
  // Below this bucket only late arrivals remain. They are removed with another bucket: the next, or one before, where a clock was ahead.
  let emptyBelow = 0
  return {
    remember: (id, receivedAt, seq) => {
      insert.run(bucketOf(receivedAt), hashOf(id), seq)
    },
    remove: (id, receivedAt, seq) => {
      removeOne.run(bucketOf(receivedAt), hashOf(id), seq)
    },
    // One more bucket than needed is kept, for requests that were received a little earlier and arrive later.
    forget: (at, max) => {
      const oldest = bucketOf(at) - reach - 1
      if (oldest === emptyBelow) return
      if (remove.run(oldest, max).changes < max) emptyBelow = oldest
    },
  }
}
