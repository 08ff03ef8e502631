import { nextByte, nextNumber, type Cursor } from './numbers.ts'
import { createTermPlaces, endOf, mainIndex, termBytesMax } from './page.ts'
import { UnknownFormat } from './segments.ts'

const blank = 0x20

/** The terms that begin on a page, in order, with blanks between; no term has one. */
export type PageTerms = Readonly<{ count: number; text: string }>

/** Reads the terms of pages and nothing else of them. Those that contain one of these signs (ASCII) are left out. */
export function createTermReader(signs: string): (page: Uint8Array) => PageTerms {
  const isSign = new Uint8Array(256)
  for (const sign of Buffer.from(signs)) isSign[sign] = 1
  const cursor: Cursor = { page: new Uint8Array(), at: 0 }
  const term = Buffer.allocUnsafe(termBytesMax)
  let termBytes = 0
  /** Where the first sign is in the term; 0: nowhere, since each term begins with what says of which index it is. */
  let signAt = 0
  let text = Buffer.allocUnsafe(1 << 16)
  let used = 0
  const readTerm = (end: number, isFirst: boolean): void => {
    const kept = isFirst ? 0 : nextNumber(cursor)
    const added = nextNumber(cursor)
    const bytes = kept + added
    const isThere = kept >= 0 && kept <= termBytes && added >= 0 && cursor.at + added <= end
    if (!isThere || bytes > term.length) throw new UnknownFormat('no term')
    if (signAt >= kept) signAt = 0
    for (let at = kept; at < bytes; at++) {
      const byte = nextByte(cursor)
      term[at] = byte
      if (signAt === 0 && isSign[byte] === 1) signAt = at
    }
    termBytes = bytes
    if (term[0] !== mainIndex) throw new UnknownFormat('another index')
  }
  const appendTerm = (): void => {
    if (used + termBytes > text.length) text = Buffer.concat([text], 2 * (used + termBytes))
    for (let at = 1; at < termBytes; at++) text[used++] = term[at] ?? 0
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
      readTerm(end, isFirst)
      if (signAt > 0) continue
      appendTerm()
      count++
    }
    return { count, text: text.toString('utf8', 0, Math.max(0, used - 1)) }
  }
}
