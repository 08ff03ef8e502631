import { crc32 } from 'node:zlib'
import type { SQLOutputValue } from 'node:sqlite'

/** The value of `events.crc`: a row that was changed or moved does not match. */
export const rowCrc = (seq: number, header: string): number => crc32(`${seq} ${header}`)

/** The sequence that a query found; `none` where it found none, as the highest of an empty table. */
export const sequenceOf = (row: Readonly<Record<string, SQLOutputValue>> | undefined, none = 0): number =>
  typeof row?.['seq'] === 'number' ? row['seq'] : none
