import type { DocumentId } from '../../projection.ts'
import { shortHashOf } from '../digest.ts'

/**
 * Two sums of 32 bits over postings: of the hash of each, times two factors of its term. Sums of rows add up to those of a file, in whatever order, and
 * so do sums over a term's postings. A posting that is missing, added or moved changes both. The factors keep mistakes apart, not somebody who looks
 * for terms that have the same ones: whoever can change an index can change the log.
 */
export type PostingSums = readonly [number, number]

/** The hash of a posting of an entry: below 2^31. `column` of so many `columns`; `offset`: the number of the term in it. */
export const postingHash = (idHash: number, columns: number, column: number, offset: number): number =>
  Math.imul(idHash, (offset * columns + column + 1) & 0x7fff_ffff) & 0x7fff_ffff

/** The same in SQL. */
export const postingHashSql = (idHash: string, columns: number, column: string, offset: string): string =>
  `((${idHash} * ((${offset} * ${columns} + ${column} + 1) & 2147483647)) & 2147483647)`

const [firstSeed, secondSeed] = [0x2545_f491, 0x1b87_3593]
const firstOf = (hash: number, unit: number): number => Math.imul(((hash << 5) | (hash >>> 27)) ^ unit, 0x9e37_79b1)
const secondOf = (hash: number, unit: number): number => Math.imul(((hash << 13) | (hash >>> 19)) ^ unit, 0x85eb_ca77)

/** A factor, of the hash of a term's UTF-16 units: odd, so that no product of a difference is 0. Source: MurmurHash3's finalizer. */
function factorOf(hash: number): number {
  const mixed = Math.imul(hash ^ (hash >>> 16), 0x85eb_ca6b)
  const again = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2_ae35)
  return (again ^ (again >>> 16)) | 1
}

export const noPostings: PostingSums = [0, 0]

/** With the postings of a term, by the sum of their hashes (its lower 32 bits at least). */
export function withTerm([a, b]: PostingSums, term: string, ofHashes: number): PostingSums {
  let [first, second] = [firstSeed, secondSeed]
  for (let at = 0; at < term.length; at++) {
    const unit = term.charCodeAt(at)
    first = firstOf(first, unit)
    second = secondOf(second, unit)
  }
  return [(a + Math.imul(factorOf(first), ofHashes)) | 0, (b + Math.imul(factorOf(second), ofHashes)) | 0]
}

/** What separates terms, as FTS5's tokenizer `ascii` is set (layout.ts). */
const separates = (unit: number): boolean => unit <= 0x20 || unit === 0x7f
/** And it folds capitals of ASCII. Our tokens have none. */
const folded = (unit: number): number => (unit >= 0x41 && unit <= 0x5a ? unit + 0x20 : unit)

/** The sums of an entry: of the postings that FTS5 makes of its texts, column by column. */
export function sumsOfEntry(id: DocumentId, texts: readonly (string | null)[]): PostingSums {
  const idHash = shortHashOf(id)
  let [a, b] = noPostings
  for (let column = 0; column < texts.length; column++) {
    const text = texts[column]?.toWellFormed() ?? ''
    let offset = 0
    for (let at = 0; at < text.length; at++) {
      let unit = text.charCodeAt(at)
      if (separates(unit)) continue
      let [first, second] = [firstSeed, secondSeed]
      for (; at < text.length && !separates(unit); unit = text.charCodeAt(++at)) {
        first = firstOf(first, folded(unit))
        second = secondOf(second, folded(unit))
      }
      const hash = postingHash(idHash, texts.length, column, offset++)
      a = (a + Math.imul(factorOf(first), hash)) | 0
      b = (b + Math.imul(factorOf(second), hash)) | 0
    }
  }
  return [a, b]
}

/** As text; '' where there are no postings. */
export const textOfSums = (sums: PostingSums): string =>
  sums.every((sum) => sum === 0) ? '' : sums.map((sum) => (sum >>> 0).toString(16).padStart(8, '0')).join('')
