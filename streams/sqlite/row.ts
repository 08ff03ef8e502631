import { crc32 } from 'node:zlib'

/** The value of `events.crc`: a row that was changed or moved does not match. */
export const rowCrc = (seq: number, header: string): number => crc32(`${seq} ${header}`)
