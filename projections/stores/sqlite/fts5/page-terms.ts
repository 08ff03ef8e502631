import type { Cursor } from './numbers.ts'
import { createTermPlaces, endOf } from './page.ts'
import { createTerm, nextTerm, type Term } from './term.ts'

const blank = 0x20

/** The terms that begin on a page, in order, with blanks between; no term has one. */
export type PageTerms = Readonly<{ count: number; text: string }>

/** Reads the terms of pages and nothing else of them. Those that contain one of these signs (ASCII) are left out. */
export function createTermReader(signs: string): (page: Uint8Array) => PageTerms {
  const isSign = new Uint8Array(256)
  for (const sign of Buffer.from(signs)) isSign[sign] = 1
  const cursor: Cursor = { page: new Uint8Array(), at: 0 }
  const term = createTerm()
  /** Where the first sign is in the term; 0: nowhere, since each term begins with what says of which index it is. */
  let signAt = 0
  let text = Buffer.allocUnsafe(1 << 16)
  let used = 0
  const findSign = ({ bytes, length, kept }: Term): void => {
    if (signAt >= kept) signAt = 0
    for (let at = kept; signAt === 0 && at < length; at++) if (isSign[bytes[at] ?? 0] === 1) signAt = at
  }
  const append = ({ bytes, length }: Term): void => {
    if (used + length > text.length) text = Buffer.concat([text], 2 * (used + length))
    for (let at = 1; at < length; at++) text[used++] = bytes[at] ?? 0
    text[used++] = blank
  }
  return (page) => {
    const end = endOf(page)
    const nextPlace = createTermPlaces(page, end)
    cursor.page = page
    let count = 0
    used = 0
    for (let place = nextPlace(), isFirst = true; place < end; place = nextPlace(), isFirst = false) {
      cursor.at = place
      nextTerm(cursor, term, end, isFirst)
      findSign(term)
      if (signAt > 0) continue
      append(term)
      count++
    }
    return { count, text: text.toString('utf8', 0, Math.max(0, used - 1)) }
  }
}
