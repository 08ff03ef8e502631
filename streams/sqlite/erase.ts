import type { DatabaseSync } from 'node:sqlite'
import { positionStep, type EventHeader, type Position } from '#src/events/envelope.ts'
import { isErasure } from '#src/events/erasure.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import { damageOf } from './failure.ts'
import type { IdTable } from './ids.ts'
import { rowCrc, sequenceOf } from './row.ts'

/** What to erase, and the sequence of the last row already checked (0: none yet). */
export type ErasureStep = Readonly<{ workspaceId: WorkspaceId; upTo: Position; after: number }>

/**
 * Rows of an erased workspace stay, with nothing but their sequence, so that a missing row still means damage. `meta` also holds the state
 * of each erased workspace, `left` or `clean`. Appending an event to a clean one sets it to `left` in the same transaction, so nobody has
 * to search for late events.
 */
export type Erase = Readonly<{
  /** Erases as much as one transaction should. Returns where to go on, undefined at the end. */
  step(step: ErasureStep): number | undefined
  /** Marks the workspace clean, unless something is left. */
  finish(step: ErasureStep): void
  /** An event of the workspace is being appended. */
  appended(workspaceId: WorkspaceId): void
}>

/** The most that one step reads and erases: appends wait while it runs. */
const stepRowsMax = 4_096
const stepErasedMax = 256
const stepBytesMax = 8 * 1024 * 1024

const clean = 'clean'
const left = 'left'
const markName = (workspaceId: WorkspaceId): string => `erased.${workspaceId}`
/** The mark of a running erasure, by its end. If two run at once, the later one decides how it ends. */
const underWay = ({ upTo }: ErasureStep): string => `up to ${upTo}`

export function createIsLeft(database: DatabaseSync): (workspaceId: WorkspaceId) => boolean {
  const select = database.prepare('SELECT value FROM meta WHERE name = ?')
  return (workspaceId) => select.get(markName(workspaceId))?.['value'] !== clean
}

function createMarks(database: DatabaseSync) {
  const write = database.prepare(
    'INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value',
  )
  const change = database.prepare('UPDATE meta SET value = ? WHERE name = ? AND value = ?')
  const soil = database.prepare('UPDATE meta SET value = ? WHERE name = ? AND value <> ?')
  return {
    begin: (step: ErasureStep): void => void write.run(markName(step.workspaceId), underWay(step)),
    end: (step: ErasureStep): void => void change.run(clean, markName(step.workspaceId), underWay(step)),
    soil: (workspaceId: WorkspaceId): void => void soil.run(left, markName(workspaceId), left),
  }
}

/** What must be known of an event; the rest of its header may be a newer program's. */
type Known = Pick<EventHeader, 'id' | 'type' | 'workspaceId' | 'receivedAt'>
type Row = Readonly<{ seq: number; bytes: number; event: Known }>

/** As many rows as one step erases, but at least one. */
function takeSome(all: Iterable<Row>): Readonly<{ rows: readonly Row[]; isCutShort: boolean }> {
  const rows: Row[] = []
  let bytes = 0
  for (const row of all) {
    bytes += row.bytes
    if (rows.length > 0 && (rows.length === stepErasedMax || bytes > stepBytesMax)) return { rows, isCutShort: true }
    rows.push(row)
  }
  return { rows, isCutShort: false }
}

export function createErase(database: DatabaseSync, ids: IdTable, file: string): Erase {
  const marks = createMarks(database)
  // A cheap text search first, so that other workspaces' headers are not parsed.
  const select = database.prepare(
    `SELECT seq, crc, header, length(payload) AS bytes FROM events
     WHERE seq > ? AND seq <= ? AND instr(header, ?) > 0 ORDER BY seq`,
  )
  const tombstone = database.prepare(
    `UPDATE events SET crc = ?, subject = NULL, header = '', payload = x'' WHERE seq = ?`,
  )
  const first = database.prepare('SELECT min(seq) AS seq FROM events')
  const head = database.prepare('SELECT max(seq) AS seq FROM events')

  function* rowsOf(workspaceId: WorkspaceId, after: number, upTo: number): Generator<Row> {
    for (const row of select.iterate(after, upTo, `"workspaceId":"${workspaceId}"`)) {
      const [seq, header] = [Number(row['seq']), String(row['header'])]
      if (row['crc'] !== rowCrc(seq, header)) {
        const hint = 'the checksum of its header does not match'
        throw damageOf(file, { operation: `erase event ${seq} of log`, hint })
      }
      const event = JSON.parse(header) as Known
      if (event.workspaceId === workspaceId && !isErasure(event)) yield { seq, bytes: Number(row['bytes']), event }
    }
  }
  return {
    step(step) {
      const { workspaceId, upTo } = step
      const last = Math.floor(upTo / positionStep)
      if (step.after === 0) marks.begin(step)
      const after = Math.max(step.after, sequenceOf(first.get(), 1) - 1)
      const until = Math.min(last, after + stepRowsMax)
      const { rows, isCutShort } = takeSome(rowsOf(workspaceId, after, until))
      for (const { seq, event } of rows) {
        tombstone.run(rowCrc(seq, ''), seq)
        ids.remove(event.id, event.receivedAt, seq)
      }
      const done = isCutShort ? (rows.at(-1)?.seq ?? until) : until
      return done >= last ? undefined : done
    },
    finish(step) {
      const from = Math.floor(step.upTo / positionStep)
      const [late] = rowsOf(step.workspaceId, from, sequenceOf(head.get(), from))
      if (late === undefined) marks.end(step)
    },
    appended: marks.soil,
  }
}
