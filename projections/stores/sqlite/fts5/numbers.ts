/** A place in a page, or in the structure. */
export type Cursor = { page: Uint8Array; at: number }

export const nextByte = (cursor: Cursor): number => cursor.page[cursor.at++] ?? 0

/** A varint, as all of FTS5's numbers are, if not said otherwise: seven bits a byte, the highest first. Of at most 32 bits: of a longer one the lower ones. */
export function nextNumber(cursor: Cursor): number {
  let byte = nextByte(cursor)
  let value = byte & 0x7f
  while (byte >= 0x80) {
    byte = nextByte(cursor)
    value = (value << 7) | (byte & 0x7f)
  }
  return value
}

/** By its halves. */
export type Rowid = { high: number; low: number }

/** A varint of 64 bits, whose ninth byte has eight of them: a rowid in full, or its distance from the one before. */
export function nextRowid(cursor: Cursor, row: Rowid, isInFull: boolean): void {
  let [high, low] = [0, 0]
  for (let read = 0; ; read++) {
    const byte = nextByte(cursor)
    const bits = read === 8 ? 8 : 7
    high = (high << bits) | (low >>> (32 - bits))
    low = (low << bits) | (read === 8 ? byte : byte & 0x7f)
    if (byte < 0x80 || read === 8) break
  }
  if (!isInFull) {
    const sum = (row.low >>> 0) + (low >>> 0)
    high = (row.high + high + (sum > 0xffff_ffff ? 1 : 0)) | 0
    low = sum | 0
  }
  row.high = high
  row.low = low
}
