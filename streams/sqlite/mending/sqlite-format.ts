/** The first bytes of every database ("Database File Format", 1.3). */
export const magic = Buffer.from('SQLite format 3\0')
/** The page size of every log, unless its files say otherwise. */
export const pageSizeDefault = 4_096
export const isPageSize = (size: number): boolean => size >= 512 && size <= 65_536 && (size & (size - 1)) === 0

/** SQLite's varint of one to nine bytes, and where the next value begins; undefined at the end of the bytes or beyond 2^53. */
export function varint(bytes: Buffer, at: number): readonly [number, number] | undefined {
  let value = 0
  for (let index = 0; index < 9; index++) {
    const byte = bytes[at + index]
    if (byte === undefined) return undefined
    value = index === 8 ? value * 256 + byte : value * 128 + (byte & 0x7f)
    if (!Number.isSafeInteger(value)) return undefined
    if (byte < 0x80 || index === 8) return [value, at + index + 1]
  }
  return undefined
}
