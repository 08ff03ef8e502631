import { rmSync } from 'node:fs'
import { dirname } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { positionStep, type Position } from '#src/events/envelope.ts'
import { syncFile, syncFolder } from '#src/lib/durable-files.ts'
import { repeatWindowMs } from '../../stream.ts'
import { openForWriting } from '../open-log.ts'
import { failureOf } from '../failure.ts'
import type { LogFile } from '../log-file.ts'
import { createIdTable } from '../ids.ts'
import { rowCrc } from '../row.ts'
import { formatFormers } from './formers.ts'
import { createFoundMeta, type FoundMeta } from './found-meta.ts'
import { rowsIn, type FoundRow } from './found-rows.ts'
import { openPageImages, type PageImages } from './page-images.ts'
import { sides } from '../side-files.ts'

/** Lost events: the first and the last. */
export type Gap = Readonly<{ from: Position; to: Position }>
export type Salvaged = Readonly<{
  epoch: string
  /** The damaged log's epoch, if it can be read. */
  formerEpoch: string | undefined
  /** Events kept complete; erased ones are not counted. */
  kept: number
  lost: number
  gaps: readonly Gap[]
  /** Of the last event; 0 if nothing was found. */
  head: Position
}>

const rowsPerTransaction = 4_096
/** Ids are remembered up to two hours back, so that clock changes do no harm. */
const idsReachMs = 3 * repeatWindowMs

export const removeDatabase = (file: string): void => {
  for (const side of ['', ...sides]) rmSync(`${file}${side}`, { force: true })
}

/** Groups many steps into one transaction. Nobody reads this file before it is complete. */
function createSteps(database: DatabaseSync) {
  let steps = 0
  return {
    step: (): void => {
      if (steps++ % rowsPerTransaction !== 0) return
      if (steps > 1) database.exec('COMMIT')
      database.exec('BEGIN')
    },
    end: (): void => {
      if (database.isTransaction) database.exec('COMMIT')
    },
  }
}

/** Inserts each row once, however often it was found. An erased row stays erased. */
function insertRows(database: DatabaseSync, images: PageImages): FoundMeta {
  const put = database.prepare(
    'INSERT INTO events (seq, crc, subject, header, payload) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING',
  )
  const erase = database.prepare(
    `INSERT INTO events (seq, crc, subject, header, payload) VALUES (?, ?, NULL, '', x'')
     ON CONFLICT DO UPDATE SET crc = excluded.crc, subject = NULL, header = '', payload = x''`,
  )
  const steps = createSteps(database)
  const take = ({ seq, crc, subject, header, payload }: FoundRow): void => {
    steps.step()
    if (header === '') erase.run(seq, crc)
    else put.run(seq, crc, subject, header, payload)
  }
  const meta = createFoundMeta()
  for (const image of images.all()) {
    meta.look(image)
    for (const row of rowsIn(images, image)) take(row)
  }
  steps.end()
  return meta.found()
}

/**
 * Deletes rows that were cut off but remained in free pages. The cut mark has no checksum; a valid one is below the last event, which is
 * never cut.
 */
function removeCut(database: DatabaseSync, { cut }: FoundMeta): number | undefined {
  const head = countOf(database, 'SELECT max(seq) AS n FROM events')
  if (cut === undefined || cut >= head) return undefined
  database.exec('PRAGMA secure_delete = ON')
  database.prepare('DELETE FROM events WHERE seq <= ?').run(cut)
  return cut
}

type Hole = Readonly<{ from: number; to: number }>

function* holesAfter(database: DatabaseSync, cut: number): Generator<Hole> {
  let next = cut + 1
  for (const row of database.prepare('SELECT seq FROM events ORDER BY seq').iterate()) {
    const seq = Number(row['seq'])
    if (seq > next) yield { from: next, to: seq - 1 }
    next = seq + 1
  }
}

/**
 * A lost event keeps its place, as an erased one does, so all others keep their positions. Lost events at the beginning are cut off. `cut`:
 * the last sequence cut before; undefined if unknown, and then what came before the first event is unknown too. Returns the lost ranges.
 */
function fillHoles(database: DatabaseSync, cut: number | undefined): readonly Hole[] {
  const holes = [...holesAfter(database, cut ?? 0)]
  const insert = database.prepare(
    "INSERT INTO events (seq, crc, subject, header, payload) VALUES (?, ?, NULL, '', x'')",
  )
  const steps = createSteps(database)
  const [first] = holes
  const gone = first !== undefined && first.from === (cut ?? 0) + 1 ? first.to : (cut ?? 0)
  for (const { from, to } of holes) {
    for (let seq = Math.max(from, gone + 1); seq <= to; seq++) {
      steps.step()
      insert.run(seq, rowCrc(seq, ''))
    }
  }
  steps.end()
  if (gone > 0) database.prepare("INSERT INTO meta (name, value) VALUES ('cut', ?)").run(String(gone))
  return cut === undefined ? holes.slice(gone > 0 ? 1 : 0) : holes
}

function rememberIds(database: DatabaseSync): void {
  const ids = createIdTable(database)
  const steps = createSteps(database)
  let newest = 0
  const rows = database.prepare("SELECT seq, header FROM events WHERE header <> '' ORDER BY seq DESC")
  for (const { seq, header } of rows.iterate()) {
    const { id, receivedAt } = JSON.parse(String(header)) as Readonly<{ id: string; receivedAt: number }>
    newest = Math.max(newest, receivedAt)
    if (receivedAt < newest - idsReachMs) break
    steps.step()
    ids.remember(id, receivedAt, Number(seq))
  }
  steps.end()
}

const countOf = (database: DatabaseSync, sql: string): number => Number(database.prepare(sql).get()?.['n'] ?? 0)

type EpochsBeside = () => readonly string[]

/** Names the damaged log's epoch in the new one, so that its indexes stay usable even if the quarantine is deleted. */
function nameFormers(database: DatabaseSync, { epoch, formers }: FoundMeta, epochsBeside: EpochsBeside): void {
  const text = formatFormers(epoch === undefined ? epochsBeside() : [epoch, ...formers])
  if (text !== '') database.prepare("INSERT INTO meta (name, value) VALUES ('formers', ?)").run(text)
}

function fill(database: DatabaseSync, images: PageImages, epoch: string, epochsBeside: EpochsBeside): Salvaged {
  // No journal is needed: an interrupted salvage starts again with an empty file.
  database.exec('PRAGMA journal_mode = DELETE; PRAGMA synchronous = OFF; PRAGMA journal_mode = OFF')
  const meta = insertRows(database, images)
  const cut = removeCut(database, meta)
  const holes = fillHoles(database, cut)
  rememberIds(database)
  nameFormers(database, meta, epochsBeside)
  const kept = countOf(database, "SELECT count(*) AS n FROM events WHERE header <> ''")
  const head = countOf(database, 'SELECT max(seq) AS n FROM events')
  database.exec('PRAGMA journal_mode = WAL')
  return {
    epoch,
    formerEpoch: meta.epoch,
    kept,
    lost: holes.reduce((sum, { from, to }) => sum + to - from + 1, 0),
    gaps: holes.map(({ from, to }) => ({ from: from * positionStep, to: to * positionStep })),
    head: head * positionStep,
  }
}

/**
 * Makes a new log, of a new epoch, from all readable rows of a damaged one. Each keeps its position. The damaged files are only read.
 * Throws TransientError if the disk is full, PermanentError if it fails. `epochsBeside`: the epochs it may have had, if it does not say.
 */
export function salvage({ file, partition }: LogFile, target: string, epochsBeside: EpochsBeside): Salvaged {
  removeDatabase(target)
  try {
    const images = openPageImages(file)
    try {
      const { database, epoch } = openForWriting({ file: target, partition }, 0)
      try {
        return fill(database, images, epoch, epochsBeside)
      } finally {
        database.close()
        syncFile(target)
        syncFolder(dirname(target))
      }
    } finally {
      images.close()
    }
  } catch (error) {
    throw failureOf(error, 'keep what can be read of log', file)
  }
}
