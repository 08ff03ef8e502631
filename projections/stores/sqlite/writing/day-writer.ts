import { hash } from 'node:crypto'
import { stringifyJson } from '#src/lib/json.ts'
import { compareText } from '#src/lib/compare-text.ts'
import type { Position } from '#src/events/envelope.ts'
import { timeOfRecordId, type DocumentId, type Entry } from '../../../projection.ts'
import { countedValues, rowOf, type Row } from '../../row.ts'
import { isCounted } from '../counted-where.ts'
import { transaction, type Columns, type Database, type Value } from '../database.ts'
import { formatKeywords, keywordColumn, numberColumn } from '../layout.ts'
import { msOf, msOfRow } from '../rowid-parts.ts'
import { sumsOfEntry } from '../posting-sums.ts'
import { findRecords, findRow, insertTermsInto, positionOf, termsOf, type WrittenTables } from '../stored-rows.ts'
import { createRowids, type NextRow } from './rowids.ts'
import { createCounts, type Counts } from './write-counts.ts'

/** `position`: of its last event. `onStep`: to be called after every few rows; `checkRoom`: before a commit. */
export type Batch = Readonly<{ position: Position; onStep: () => void; checkRoom: () => void }>
type Writing = WrittenTables & Pick<Batch, 'onStep'>
/** What a batch does to one file: entries to write, and ids of records to remove because others replace them. */
export type DayChanges = Readonly<{ entries: readonly Entry[]; replaced: readonly Replaced[] }>
export type Replaced = Readonly<{ collection: string; id: DocumentId; position: Position }>

/** `counted`: the texts of the keywords that it is counted by; undefined if it is not counted. */
type Old = Readonly<{ row: bigint; time: bigint; terms: string; counted: readonly unknown[] | undefined }>
type New = Readonly<{ entry: Entry; form: Row; old: Old | undefined }>

/** The order in which rows are written: that of their rowids. */
const compareTimed = (aNs: bigint, a: Entry, bNs: bigint, b: Entry): number =>
  aNs < bNs ? -1 : aNs > bNs ? 1 : compareText(a.id, b.id)

const countedText = ({ keywords }: Row, field: string): string | null =>
  formatKeywords(countedValues(keywords.get(field) ?? []))

/** Longer values get no id: a file has thousands of ids, and searches read all their values. */
const valsCharactersMax = 1_000

/** The values that a row is counted by, to be encoded in its rowid; undefined if they are too long, or the row is not counted. */
function valsOf({ tables }: WrittenTables, form: Row): string | undefined {
  if (!isCounted(tables.shape, (field) => form.numbers.get(field))) return undefined
  const vals = JSON.stringify(tables.counted.map((field) => countedText(form, field)))
  return vals.length <= valsCharactersMax ? vals : undefined
}

const hashOf = (termTexts: readonly (string | null)[]): string => hash('sha1', termTexts.join('\n')).slice(0, 16)

function oldOf(columns: Columns, { tables }: WrittenTables): Old {
  return {
    row: columns['row'] as bigint,
    time: columns['time'] as bigint,
    terms: String(columns['terms'] ?? ''),
    counted: isCounted(tables.shape, (field) => columns[numberColumn(field)])
      ? tables.counted.map((field) => columns[keywordColumn(field)])
      : undefined,
  }
}

/** Its postings stay, for a new form that may take its place (removeTerms). */
function removeRow(database: Database, { tables: { rows, bodies } }: WrittenTables, old: Old, counts: Counts): void {
  database.run(`DELETE FROM ${rows} WHERE row = ?`, old.row)
  database.run(`DELETE FROM ${bodies} WHERE row = ?`, old.row)
  counts.add(old.time, old.row, old.counted, -1)
}

function removeTerms(database: Database, { tables: { terms } }: WrittenTables, row: bigint): void {
  if (terms !== undefined) database.run(`DELETE FROM ${terms} WHERE rowid = ?`, row)
}

/** `stays`: the row keeps its rowid, and its postings are still there. */
type Placed = New & Readonly<{ row: bigint; stays: boolean }>
type Prepared = Placed & Readonly<{ termTexts: readonly (string | null)[]; termsHash: string; body: string }>

/** How many rows are prepared before they are written table by table, which keeps caches warm. */
const rowsAtOnce = 128
/** And how many characters of them: a row may have ten million. */
const charactersAtOnce = 16 * 1024 * 1024

const charactersOf = ({ termTexts, body }: Prepared): number =>
  termTexts.reduce((sum, text) => sum + (text?.length ?? 0), body.length)

function createInserter(database: Database, written: Writing, counts: Counts): (items: Iterable<Placed>) => void {
  const { tables } = written
  const { shape, rows, bodies, terms, numbers, keywords, sums } = tables
  const isDocument = shape.kind === 'document'
  const columns = ['row', 'id', 'time', 'position', ...(isDocument ? ['created', 'terms'] : [])]
  columns.push(...numbers.map(numberColumn), ...keywords.map(keywordColumn), ...sums)
  const insertRow = `INSERT INTO ${rows} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`
  const insertBody = `INSERT INTO ${bodies} (row, body) VALUES (?, ?)`
  const insertTerms = terms === undefined ? '' : insertTermsInto(terms, tables)
  const countedAt = tables.counted.map((field) => keywords.indexOf(field))
  const prepare = (placed: Placed): Prepared => {
    const termTexts = termsOf(written, placed.form)
    const termsHash = isDocument ? hashOf(termTexts) : ''
    return { ...placed, termTexts, termsHash, body: stringifyJson(placed.entry.document) }
  }
  const putRow = ({ row, entry, form, termTexts, termsHash }: Prepared): void => {
    const values: Value[] = [row, entry.id, form.timeNs, entry.position]
    if (isDocument) values.push(entry.created ?? 0, termsHash)
    for (const field of numbers) values.push(form.numbers.get(field) ?? null)
    const keywordTexts = keywords.map((field) => countedText(form, field))
    values.push(...keywordTexts)
    if (sums.length > 0) values.push(...sumsOfEntry(entry.id, termTexts))
    database.run(insertRow, ...values)
    const counted = countedAt.map((at) => keywordTexts[at])
    counts.add(form.timeNs, row, isCounted(shape, (field) => form.numbers.get(field)) ? counted : undefined, 1)
  }
  const putTerms = ({ row, old, stays, termTexts, termsHash }: Prepared): void => {
    // Unchanged postings need not be written again.
    if (terms === undefined || (stays && old?.terms === termsHash)) return
    if (stays) database.run(`DELETE FROM ${terms} WHERE rowid = ?`, row)
    database.run(insertTerms, row, ...termTexts)
  }
  const put = (prepared: readonly Prepared[]): void => {
    for (const one of prepared) putRow(one)
    for (const { row, body } of prepared) database.run(insertBody, row, body)
    for (const one of prepared) putTerms(one)
    written.onStep()
  }
  return (items) => {
    let prepared: Prepared[] = []
    let characters = 0
    for (const item of items) {
      const one = prepare(item)
      prepared.push(one)
      characters += charactersOf(one)
      if (prepared.length < rowsAtOnce && characters < charactersAtOnce) continue
      put(prepared)
      prepared = []
      characters = 0
    }
    put(prepared)
  }
}

/** Whether a document can keep its rowid: its time is in the same millisecond. */
const keepsRow = (old: Old, form: Row): boolean => msOfRow(old.row) === msOf(form.timeNs)

/** Widens the range of times that the collection in this file holds. */
function widenTimes(database: Database, { tables }: WrittenTables, first: bigint, last: bigint): void {
  database.run(
    `UPDATE collections SET earliest = min(coalesce(earliest, ?1), ?1), latest = max(coalesce(latest, ?2), ?2) WHERE name = ?3`,
    first,
    last,
    tables.shape.name,
  )
}

type Timed = Readonly<{ entry: Entry; timeNs: bigint }>

/**
 * Gives records of one millisecond rowids that encode their values, in rowid order. If there are very many, their searchable form is computed twice,
 * to save memory.
 */
function* placeByValues(written: WrittenTables, nextRow: NextRow, records: readonly Timed[]): Generator<Placed> {
  const formOf = ({ entry, timeNs }: Timed): Row => rowOf(written.tables.shape, written.collection, entry, timeNs)
  let characters = 0
  const numbered = records.map((record) => {
    const form = formOf(record)
    for (const text of form.tokens.values()) characters += text.length
    const row = nextRow(record.timeNs, valsOf(written, form))
    return { record, form: characters < charactersAtOnce ? form : undefined, row }
  })
  numbered.sort((a, b) => (a.row < b.row ? -1 : 1))
  for (const { record, form = formOf(record), row } of numbered) {
    yield { entry: record.entry, form, old: undefined, row, stays: false }
  }
}

/** The searchable form of a record is computed when needed, because that of a whole batch would take too much memory. */
function* placeRecords(database: Database, written: WrittenTables, records: readonly Timed[]): Generator<Placed> {
  const { tables, collection } = written
  const nextRow = createRowids(database, tables)
  if (tables.together !== undefined) {
    const byMs = Map.groupBy(records, ({ timeNs }) => msOf(timeNs))
    for (const ofMs of byMs.values()) yield* placeByValues(written, nextRow, ofMs)
    return
  }
  for (const { entry, timeNs } of records) {
    const form = rowOf(tables.shape, collection, entry, timeNs)
    yield { entry, form, old: undefined, row: nextRow(timeNs), stays: false }
  }
}

/** In order of time, so that FTS5 gets ascending rowids. */
function writeRecords(database: Database, written: Writing, entries: readonly Entry[], counts: Counts): void {
  const records = entries.map((entry): Timed => ({ entry, timeNs: timeOf(written, entry) }))
  records.sort((a, b) => compareTimed(a.timeNs, a.entry, b.timeNs, b.entry))
  const [first, last] = [records[0], records.at(-1)]
  if (first === undefined || last === undefined) return
  createInserter(database, written, counts)(placeRecords(database, written, records))
  widenTimes(database, written, first.timeNs, last.timeNs)
}

/** The time that a record's id begins with, or else that of its searchable form. */
const timeOf = ({ tables, collection }: WrittenTables, entry: Entry): bigint =>
  timeOfRecordId(entry.id) ?? rowOf(tables.shape, collection, entry).timeNs

function writeDocuments(database: Database, written: Writing, entries: readonly Entry[], counts: Counts): void {
  let items: New[] = []
  let characters = 0
  for (const entry of entries) {
    const found = findRow(database, written.tables, entry.id)
    const old = found && oldOf(found, written)
    const form = rowOf(written.tables.shape, written.collection, entry)
    items.push({ entry, form, old })
    for (const text of form.tokens.values()) characters += text.length
    if (characters < charactersAtOnce) continue
    putDocuments(database, written, items, counts)
    items = []
    characters = 0
  }
  putDocuments(database, written, items, counts)
}

function putDocuments(database: Database, written: Writing, items: New[], counts: Counts): void {
  for (const { old, form } of items) {
    if (old === undefined) continue
    removeRow(database, written, old, counts)
    if (!keepsRow(old, form)) removeTerms(database, written, old.row)
  }
  const sorted = items.sort((a, b) => compareTimed(a.form.timeNs, a.entry, b.form.timeNs, b.entry))
  const insert = createInserter(database, written, counts)
  // Rows that keep their rowid are written first: new rowids of a millisecond come after them.
  const fresh: New[] = []
  const staying: Placed[] = []
  for (const item of sorted) {
    const { old, form } = item
    if (old !== undefined && keepsRow(old, form)) staying.push({ ...item, row: old.row, stays: true })
    else fresh.push(item)
  }
  insert(staying)
  const nextRow = createRowids(database, written.tables)
  insert(fresh.map((item) => ({ ...item, row: nextRow(item.form.timeNs), stays: false })))
  const [first, last] = [sorted[0]?.form.timeNs, sorted.at(-1)?.form.timeNs]
  if (first !== undefined && last !== undefined) widenTimes(database, written, first, last)
}

/** Removes records that others replace. */
function removeReplaced(database: Database, written: Writing, replaced: readonly Replaced[], counts: Counts): void {
  const ids = replaced.map(({ id }) => id)
  for (const columns of findRecords(database, written.tables, ids)) {
    const old = oldOf(columns, written)
    removeRow(database, written, old, counts)
    removeTerms(database, written, old.row)
    written.onStep()
  }
}

function writeCollection(
  database: Database,
  written: Writing,
  entries: readonly Entry[],
  replaced: readonly Replaced[],
): void {
  const counts = createCounts(database, written.tables)
  removeReplaced(database, written, replaced, counts)
  const write = written.tables.shape.kind === 'document' ? writeDocuments : writeRecords
  write(database, written, entries, counts)
  counts.write()
}

/**
 * Writes a batch's part for one file, and the batch's position, in one transaction. What the file's position covers already is skipped, so a batch
 * that is repeated, or split differently, changes nothing.
 */
export function writeDay(
  database: Database,
  collections: ReadonlyMap<string, WrittenTables>,
  { entries, replaced }: DayChanges,
  { position, onStep, checkRoom }: Batch,
): void {
  transaction(database, () => {
    const reached = positionOf(database)
    if (position <= reached) return
    for (const [name, written] of collections) {
      const mine = entries.filter((entry) => entry.collection === name && entry.position > reached)
      const gone = replaced.filter((item) => item.collection === name && item.position > reached)
      if (mine.length + gone.length > 0) writeCollection(database, { ...written, onStep }, mine, gone)
    }
    database.run('UPDATE file SET position = ?', position)
    checkRoom()
  })
}
