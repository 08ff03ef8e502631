import { PermanentError } from '#src/lib/failure.ts'
import type { CollectionShape } from '../row.ts'
import type { Database } from './database.ts'

/** Raise both if you change the tables below in a way that a collection’s shape does not show. Files of a later layout are refused. */
export const layoutVersion = 1n
/** Of a file with packed bodies (pack-bodies.ts), which programs that do not know of them cannot read. */
export const packedLayoutVersion = 2n

/** The names of a collection's tables and columns. */
export type Tables = Readonly<{
  shape: CollectionShape
  rows: string
  bodies: string
  /** The table of packed bodies (pack-bodies.ts): parts of them by their last row. Only in files of days that are over. */
  packed: string
  /** The FTS5 table and its vocabulary; undefined if no field is searched by terms. */
  terms: string | undefined
  vocabulary: string
  minutes: string
  /** Keywords by which counts per minute are kept. */
  counted: readonly string[]
  /** Tables of the values that rowids encode, and of counts of them; undefined if none are kept. */
  together: Readonly<{ values: string; counts: string }> | undefined
  numbers: readonly string[]
  keywords: readonly string[]
  ids: readonly string[]
  tokens: readonly string[]
  /** Columns of sums over the postings that a row has; of files that hold no postings themselves. */
  sums: readonly string[]
}>

export const numberColumn = (field: string): string => `n_${field}`
export const keywordColumn = (field: string): string => `k_${field}`
export const tokensColumn = (field: string): string => `t_${field}`
/** The FTS5 column with a term for each value of each keyword and id field. */
export const keywordTerms = 'keywords'

export function tablesOf(shape: CollectionShape): Tables {
  const names = [shape.name, ...Object.keys(shape.fields)]
  const odd = names.find((name) => !/^[A-Za-z][A-Za-z0-9_]*$/.test(name))
  if (odd !== undefined) throw new PermanentError({ operation: 'lay out', subject: `collection ${shape.name}, ${odd}` })
  const of = (kind: string): readonly string[] =>
    Object.keys(shape.fields).filter((field) => shape.fields[field] === kind)
  const [numbers, keywords, ids, tokens] = [of('number'), of('keyword'), of('id'), of('tokens')]
  return {
    shape,
    rows: `r_${shape.name}`,
    bodies: `b_${shape.name}`,
    packed: `p_${shape.name}`,
    terms: keywords.length + ids.length + tokens.length === 0 ? undefined : `f_${shape.name}`,
    vocabulary: `v_${shape.name}`,
    minutes: `m_${shape.name}`,
    counted: shape.countedBy ?? [],
    // Not for documents: they keep their rowid while their values change.
    together:
      shape.countedTogether === true && shape.kind === 'record'
        ? { values: `x_${shape.name}`, counts: `c_${shape.name}` }
        : undefined,
    numbers,
    keywords,
    ids,
    tokens,
    sums: [],
  }
}

/** The same with sums over postings (posting-sums.ts) in the place of the FTS5 table. */
export function tablesWithSums(shape: CollectionShape): Tables {
  const tables = tablesOf(shape)
  return tables.terms === undefined ? tables : { ...tables, terms: undefined, sums: ['sum_0', 'sum_1'] }
}

/** Only blanks separate tokens: all other printable ASCII characters belong to them, as all beyond ASCII do anyway. */
const tokenCharacters = Array.from({ length: 0x7f - 0x21 }, (_, index) => String.fromCharCode(0x21 + index))
  .filter((character) => !/[A-Za-z0-9]/.test(character))
  .join('')

/**
 * How much of a transaction's postings FTS5 gathers in memory before it writes a segment (default: 1 MB), and how many segments of a level it merges
 * into one. Fewer and larger segments cost a third less to write.
 */
const termsHeldBytesMax = 32 * 1024 * 1024
const segmentsMerged = 16
/**
 * FTS5 merges them a little with each transaction, in proportion to what it writes. Where a level has so many (default: 16, so before that), it
 * merges them all in the transaction that comes by: gigabytes in a large day.
 */
const segmentsMax = 64

/** The columns of the FTS5 table, in order. */
export const termColumns = ({ tokens }: Tables): readonly string[] => [...tokens.map(tokensColumn), keywordTerms]

/** `name`: of the FTS5 table. */
export function createTerms(name: string, tables: Tables): string {
  const tokenize = `ascii tokenchars '${tokenCharacters.replaceAll("'", "''")}'`.replaceAll('"', '""')
  const columns = termColumns(tables).join(', ')
  return `CREATE VIRTUAL TABLE ${name} USING fts5(${columns}, content='', contentless_delete=1, tokenize="${tokenize}")`
}

function termsTable(tables: Tables): readonly string[] {
  const { terms, vocabulary } = tables
  if (terms === undefined) return []
  return [
    createTerms(terms, tables),
    `INSERT INTO ${terms} (${terms}, rank)
       VALUES ('hashsize', ${termsHeldBytesMax}), ('automerge', ${segmentsMerged}), ('crisismerge', ${segmentsMax})`,
    `CREATE VIRTUAL TABLE ${vocabulary} USING fts5vocab(${terms}, 'col')`,
  ]
}

/**
 * `slice`: the number of a stretch of time as long as the grain (ns). `id`: an id of values that rows have together, `vals` as JSON. Rows whose
 * rowids encode no values are counted per minute under the grain `untoldGrain`.
 */
function countTables({ counted, minutes, together }: Tables): readonly string[] {
  if (counted.length === 0) return []
  const single = `CREATE TABLE ${minutes} (field TEXT NOT NULL, minute INTEGER NOT NULL, value TEXT NOT NULL, count INTEGER NOT NULL,
    PRIMARY KEY (field, minute, value)) WITHOUT ROWID`
  if (together === undefined) return [single]
  const { values, counts } = together
  return [
    single,
    `CREATE TABLE ${values} (id INTEGER PRIMARY KEY, vals TEXT NOT NULL)`,
    `CREATE INDEX ${values}_vals ON ${values} (vals)`,
    `CREATE TABLE ${counts} (grain INTEGER NOT NULL, slice INTEGER NOT NULL, id INTEGER NOT NULL, count INTEGER NOT NULL,
       PRIMARY KEY (grain, slice, id)) WITHOUT ROWID`,
  ]
}

/**
 * Rowids are in the order of time (rowid-parts.ts), so newest first is a walk. A row is narrow: its body is in another table, so that counting and
 * sorting do not read it. `created`: see Entry. `terms`: a hash of what FTS5 holds of the row.
 */
function collectionTables(tables: Tables): readonly string[] {
  const { shape, rows, bodies, numbers, keywords, sums } = tables
  const ofNumbers = numbers.map((field) => `${numberColumn(field)} INTEGER`)
  const ofKeywords = keywords.map((field) => `${keywordColumn(field)} TEXT`)
  const isDocument = shape.kind === 'document'
  const byNumber = numbers.map(
    (field) => `CREATE INDEX ${rows}_${numberColumn(field)} ON ${rows} (${numberColumn(field)}, id)`,
  )
  return [
    `CREATE TABLE ${rows} (${[
      'row INTEGER PRIMARY KEY, id TEXT NOT NULL, time INTEGER NOT NULL, position INTEGER NOT NULL',
      ...(isDocument ? ['created INTEGER NOT NULL, terms TEXT NOT NULL'] : []),
      ...ofNumbers,
      ...ofKeywords,
      ...sums.map((sum) => `${sum} INTEGER NOT NULL`),
    ].join(', ')})`,
    `CREATE TABLE ${bodies} (row INTEGER PRIMARY KEY, body TEXT NOT NULL)`,
    ...(isDocument ? [`CREATE UNIQUE INDEX ${rows}_id ON ${rows} (id)`, ...byNumber] : []),
    `CREATE INDEX ${rows}_position ON ${rows} (position)`,
    ...termsTable(tables),
    ...countTables(tables),
    `INSERT INTO collections (name, spilled) VALUES ('${shape.name}', 0)`,
  ]
}

/** Creates the tables of a day's file, within a transaction. */
export function layOutDay(database: Database, collections: readonly Tables[], epoch: string): void {
  database.exec('CREATE TABLE file (epoch TEXT NOT NULL, position INTEGER NOT NULL)')
  database.exec(
    'CREATE TABLE collections (name TEXT PRIMARY KEY, earliest INTEGER, latest INTEGER, spilled INTEGER NOT NULL)',
  )
  for (const tables of collections) for (const sql of collectionTables(tables)) database.exec(sql)
  database.run('INSERT INTO file (epoch, position) VALUES (?, 0)', epoch)
  database.exec(`PRAGMA user_version = ${layoutVersion}`)
}

/** Adds the tables of packed bodies, within a transaction. */
export function layOutPacked(database: Database, collections: readonly Tables[]): void {
  for (const { packed } of collections)
    database.exec(`CREATE TABLE ${packed} (last INTEGER PRIMARY KEY, part BLOB NOT NULL)`)
  database.exec(`PRAGMA user_version = ${packedLayoutVersion}`)
}

/** The layout version of an open file; 0 if it is just being created. Throws PermanentError for a later version. */
export function layoutOf(database: Database): bigint {
  const version = database.get('PRAGMA user_version')?.['user_version'] as bigint
  if (version <= packedLayoutVersion) return version
  throw new PermanentError({
    operation: 'open',
    subject: database.path,
    hint:
      `its layout is version ${version}, this program knows ${packedLayoutVersion}: start the newer program again; or, to go on with this one, stop ` +
      `the server, move the folder of the indexes away and start it, which folds them again from the log`,
  })
}

/** The step of counts over time. */
export const minuteNs = 60_000_000_000n
export const untoldGrain = 0n
/** The steps of counts of values together, the coarsest first; each is a multiple of the next. */
export const quarterNs = 15n * minuteNs
export const grainsNs: readonly bigint[] = [quarterNs, minuteNs, 5_000_000_000n]
/** The shortest step of a collection's counts. */
export const finestNsOf = ({ together }: Tables): bigint =>
  (together === undefined ? undefined : grainsNs.at(-1)) ?? minuteNs

/** The values of a keyword field as one text: a single value as it is, several as JSON after a marker character. */
export function formatKeywords(values: readonly string[]): string | null {
  const [first] = values
  if (first === undefined) return null
  return values.length === 1 && first !== '' && !first.startsWith('\u001f') ? first : `\u001f${JSON.stringify(values)}`
}

export function parseKeywords(text: unknown): readonly string[] {
  if (typeof text !== 'string') return []
  return text.startsWith('\u001f') ? (JSON.parse(text.slice(1)) as readonly string[]) : [text]
}

/** Counts per minute are of single values. Under this name they count the values that rows have beyond their first. */
export const beyondFirst = '\u001f'
/** Under this name they count the rows without a value. */
export const noValue = ''

/**
 * What the values of a row's field add to counts per minute. Each value counts separately: there are few values, while nearly every row may have
 * its own set of them.
 */
export function singleValues(text: unknown, by: number): readonly (readonly [value: string, by: number])[] {
  const values = parseKeywords(text)
  if (values.length < 2) return [[typeof text === 'string' ? text : noValue, by]]
  const single = values.map((value) => [formatKeywords([value]) ?? noValue, by] as const)
  return [...single, [beyondFirst, by * (values.length - 1)]]
}

/** The number of a value's bucket. SQL's own division rounds towards zero. */
export const bucketSql = (value: string, step: bigint): string => `${value} / ${step} - (${value} % ${step} < 0)`
