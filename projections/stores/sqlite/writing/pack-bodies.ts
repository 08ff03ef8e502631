import { deflateSync } from 'node:zlib'
import { lineOf } from '../bodies.ts'
import { transaction, type Database } from '../database.ts'
import { layOutPacked, layoutOf, packedLayoutVersion, type Tables } from '../layout.ts'

/**
 * Characters of bodies that are packed together: a log takes 92 bytes then, not 450, and a scattered record costs 16 µs to unpack. Twice as many: 77
 * bytes, and 35 µs. zstd takes 5 % less room, and 10 µs more, because each call sets up so much.
 */
const partCharacters = 8 * 1024
/** What fits in a page of a file. */
const charactersPerPage = 4_096
const incremental = 2n

const pragma = (database: Database, name: string): unknown => database.get(`PRAGMA ${name}`)?.[name]

/** Files that earlier programs made cannot give back pages. */
export const isWorthPacking = (database: Database, pagesMin: number): boolean =>
  pragma(database, 'auto_vacuum') === incremental && Number(pragma(database, 'page_count')) >= pagesMin

type Body = Readonly<{ row: bigint; body: string }>

/** The next bodies to be packed, at least one if there are any, and so many characters or a little more. */
function nextBodies(database: Database, { bodies }: Tables, after: bigint, characters: number): readonly Body[] {
  const next: Body[] = []
  let left = characters
  const sql = `SELECT row, body FROM ${bodies} WHERE row > ? ORDER BY row`
  for (const columns of database.iterate(sql, after)) {
    const body = String(columns['body'])
    next.push({ row: columns['row'] as bigint, body })
    left -= body.length
    if (left <= 0) break
  }
  return next
}

function* inParts(bodies: readonly Body[]): Generator<readonly Body[]> {
  let part: Body[] = []
  let characters = 0
  for (const one of bodies) {
    part.push(one)
    characters += one.body.length
    if (characters < partCharacters) continue
    yield part
    part = []
    characters = 0
  }
  if (part.length > 0) yield part
}

/** False if none are left. */
function packNext(database: Database, tables: Tables, pages: number): boolean {
  const { bodies, packed } = tables
  const after = (database.get(`SELECT max(last) AS last FROM ${packed}`)?.['last'] ?? -(2n ** 63n)) as bigint
  const next = nextBodies(database, tables, after, pages * charactersPerPage)
  const end = next.at(-1)?.row
  if (end === undefined) return false
  for (const part of inParts(next)) {
    const last = part.at(-1)?.row ?? end
    const text = part.map(({ row, body }) => lineOf(last, row, body)).join('')
    database.run(`INSERT INTO ${packed} (last, part) VALUES (?, ?)`, last, deflateSync(text))
  }
  database.run(`DELETE FROM ${bodies} WHERE row > ? AND row <= ?`, after, end)
  return true
}

/**
 * Packs the next bodies of a file; false if there are none left. They go by rowids, so parts never overlap: a body is in the one part whose rows reach
 * so far, unless the row was written again, and has it beside it. What comes late before the last part stays as it is.
 */
export function packSome(database: Database, collections: readonly Tables[], pages: number): boolean {
  return transaction(database, () => {
    if (layoutOf(database) < packedLayoutVersion) layOutPacked(database, collections)
    return collections.some((tables) => packNext(database, tables, pages))
  })
}

/** Gives pages back to the disk that nothing is in any more; false if there are none. */
export function giveBackSome(database: Database, pages: number): boolean {
  if (pragma(database, 'freelist_count') === 0n) return false
  database.exec(`PRAGMA incremental_vacuum(${pages})`)
  return true
}
