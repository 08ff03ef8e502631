import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { gunzipSync } from 'node:zlib'
import { logCollection, logDocument } from '#projections/logs/log-document.ts'
import { dayOf } from '#src/lib/day.ts'
import { recordId, type Collection, type Entry } from '#projections/projection.ts'
import { keywordTerm, rowOf, shapeOf } from '#projections/stores/row.ts'
import { spanDocument, spanRecordId, spans } from '#projections/traces/span-document.ts'
import { limits } from '#src/config.ts'
import { decodeLogs } from '#src/wire/logs/decode.ts'
import { decodeSpans } from '#src/wire/otlp/decode.ts'
import { bodyCount, openBodies, type Bodies } from './bodies.ts'
import { createStopwatch, type Least } from './floors.ts'

export type IndexLeast = Readonly<{ decoding: Least; inserting: Least }>

/** A decoded body, and the documents that its records become. */
type Source<Record> = Readonly<{
  collection: Collection
  decode(body: Buffer): readonly Record[]
  entry(record: Record, request: number): Pick<Entry, 'id' | 'document'>
}>

const rowsPerCommit = 10_000
/** As projections/stores/sqlite/layout.ts has it: only blanks part tokens. */
const tokenCharacters = Array.from({ length: 0x7f - 0x21 }, (_, index) => String.fromCharCode(0x21 + index))
  .filter((character) => !/[A-Za-z0-9]/.test(character))
  .join('')

function createTermsTable(file: string, columns: readonly string[]) {
  const database = new DatabaseSync(file)
  const tokenize = `ascii tokenchars '${tokenCharacters.replaceAll("'", "''")}'`.replaceAll('"', '""')
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL')
  database.exec(
    `CREATE VIRTUAL TABLE terms USING fts5(${columns.join(', ')}, content='', contentless_delete=1, tokenize="${tokenize}")`,
  )
  const insert = database.prepare(`INSERT INTO terms VALUES (${columns.map(() => '?').join(', ')})`)
  return {
    insert(rows: readonly (readonly (string | null)[])[]): void {
      database.exec('BEGIN')
      for (const row of rows) insert.run(...row)
      database.exec('COMMIT')
    },
    close: () => database.close(),
  }
}

type Timed = Readonly<{ timeNs: bigint; texts: readonly (string | null)[] }>

/** Decodes every body, and puts the token texts of its records into one FTS5 table, in the order of time; nothing else. */
function floorOfIndexing<Record>(bodies: Bodies, source: Source<Record>): IndexLeast {
  const folder = mkdtempSync(join(tmpdir(), 'throughline-floor-'))
  const file = join(folder, 'terms.db')
  const shape = shapeOf(source.collection)
  const tokenFields = Object.keys(shape.fields).filter((field) => shape.fields[field] === 'tokens')
  const table = createTermsTable(file, [...tokenFields, 'keywords'])
  const [decoding, inserting] = [createStopwatch(), createStopwatch()]

  const textsOf = (record: Record, request: number): Timed => {
    const { id, document } = source.entry(record, request)
    const entry = { id, document, collection: shape.name, day: dayOf(0), position: 0 }
    const { timeNs, tokens, keywords, ids } = rowOf(shape, source.collection, entry)
    const terms = [...keywords, ...ids].flatMap(([field, values]) => values.map((value) => keywordTerm(field, value)))
    return { timeNs, texts: [...tokenFields.map((field) => tokens.get(field) ?? null), terms.join(' ')] }
  }
  let waiting: Timed[] = []
  const commit = (): void => {
    const rows = waiting.sort((a, b) => Number(a.timeNs - b.timeNs)).map(({ texts }) => texts)
    inserting.time(() => table.insert(rows))
    waiting = []
  }
  const reader = openBodies(bodies)
  for (let index = 0; index < bodyCount(bodies); index++) {
    const sent = reader.read(index)
    const body = bodies.headers['content-encoding'] === 'gzip' ? gunzipSync(sent) : sent
    for (const record of decoding.time(() => source.decode(body))) waiting.push(textsOf(record, index))
    if (waiting.length >= rowsPerCommit) commit()
  }
  commit()
  reader.close()
  table.close()
  const { size } = statSync(file)
  rmSync(folder, { recursive: true })
  return { decoding: decoding.least(bodies.records, bodies.rawBytes), inserting: inserting.least(bodies.records, size) }
}

export const floorOfSpanIndex = (bodies: Bodies): IndexLeast =>
  floorOfIndexing(bodies, {
    collection: spans,
    decode: (body) => decodeSpans(body, 'application/x-protobuf', limits),
    entry: (span) => ({
      id: spanRecordId(span.startNs, span.traceId, span.spanId),
      document: spanDocument(span),
    }),
  })

export const floorOfLogIndex = (bodies: Bodies): IndexLeast =>
  floorOfIndexing(bodies, {
    collection: logCollection,
    decode: (body) => decodeLogs(body, 'application/json', { receivedAt: 0, limits }),
    entry: (record, request) => ({
      id: recordId(record.timeNs, request.toString(16).padStart(32, '0'), record.ordinal),
      document: logDocument(record),
    }),
  })

/** Decodes every body as the folds do, and nothing else. */
function floorOfDecoding(bodies: Bodies, decode: (body: Buffer) => unknown): Least {
  const watch = createStopwatch()
  const reader = openBodies(bodies)
  for (let index = 0; index < bodyCount(bodies); index++) {
    const sent = reader.read(index)
    watch.time(() => decode(bodies.headers['content-encoding'] === 'gzip' ? gunzipSync(sent) : sent))
  }
  reader.close()
  return watch.least(bodies.records, bodies.rawBytes)
}

export const floorOfSpanDecoding = (bodies: Bodies): Least =>
  floorOfDecoding(bodies, (body) => decodeSpans(body, 'application/x-protobuf', limits))

export const floorOfLogDecoding = (bodies: Bodies): Least =>
  floorOfDecoding(bodies, (body) => decodeLogs(body, 'application/json', { receivedAt: 0, limits }))
