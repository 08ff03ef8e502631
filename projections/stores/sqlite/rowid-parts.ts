import { clamp } from '#src/lib/int64.ts'

// A rowid is the millisecond of its row's time, then a counter of 20 bits. Of records that are counted by values together, the upper 12 of these are an
// id of the values, so that postings alone answer histograms and facets.

const counterBits = 20n
const msMax = (1n << 43n) - 1n
const msMin = -(1n << 43n)
const rowsPerMs = 1n << counterBits

/** The millisecond of a time (ns) in a rowid. Times beyond the years 1691 and 2248 share the outermost milliseconds. */
export function msOf(timeNs: bigint): bigint {
  const rest = timeNs % 1_000_000n
  const ms = timeNs / 1_000_000n - (rest < 0n ? 1n : 0n)
  return clamp(ms, msMin, msMax)
}

export const isOutermost = (ms: bigint): boolean => ms === msMin || ms === msMax
export const firstRow = (ms: bigint): bigint => ms << counterBits
export const lastRow = (ms: bigint): bigint => firstRow(ms) + rowsPerMs - 1n
export const msOfRow = (row: bigint): bigint => row >> counterBits

/** The bits of the counter below the id of a row's values. */
const repeatBits = 8n
/** The ids below this one encode no values, which are then only in the row. A file assigns the other ids as it meets values. */
export const unknownValueIds = 256
export const isToldId = (id: number): boolean => id >= unknownValueIds
/** The number of all ids. */
export const valueIds = rowsPerMs >> repeatBits
export const valueIdMax = Number(valueIds - 1n)
export const firstRowOf = (ms: bigint, valueId: number): bigint => firstRow(ms) + (BigInt(valueId) << repeatBits)
export const lastRowOf = (ms: bigint, valueId: number): bigint => firstRowOf(ms, valueId + 1) - 1n
export const valueIdOf = (row: bigint): number => Number((row & (rowsPerMs - 1n)) >> repeatBits)
/** The same of rowids in SQL. */
export const msSql = (rowid: string): string => `(${rowid} >> ${counterBits})`
export const valueIdSql = (rowid: string): string => `((${rowid} & ${rowsPerMs - 1n}) >> ${repeatBits})`
