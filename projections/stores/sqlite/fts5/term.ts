import { nextByte, nextNumber, type Cursor } from './numbers.ts'
import { UnknownFormat } from './segments.ts'

/** Each term begins with it, because the table has no indexes of prefixes beside its main one. */
const mainIndex = 0x30
/** Where FTS5 cuts a term off, and what each begins with. */
const termBytesMax = 32_768 + 1

/** A term of a page, whose beginning it shares with the one before: its bytes, how many they are, and how many of them are shared. */
export type Term = { readonly bytes: Buffer; length: number; kept: number }

export const createTerm = (): Term => ({ bytes: Buffer.allocUnsafe(termBytesMax), length: 0, kept: 0 })

/** Reads the term at the cursor over the one before it on the page. `end`: of the page's content. */
export function nextTerm(cursor: Cursor, term: Term, end: number, isFirst: boolean): void {
  const kept = isFirst ? 0 : nextNumber(cursor)
  const added = nextNumber(cursor)
  // A damaged length of 32 bits is below zero: backwards a page would be read for minutes, from far before it.
  const isThere = kept >= 0 && kept <= term.length && added >= 0 && cursor.at + added <= end
  if (!isThere || kept + added > term.bytes.length) throw new UnknownFormat('no term')
  term.kept = kept
  term.length = kept + added
  for (let at = kept; at < term.length; at++) term.bytes[at] = nextByte(cursor)
  if (term.bytes[0] !== mainIndex) throw new UnknownFormat('another index')
}
