import { clamp, stepsBelow } from '#src/lib/int64.ts'

// A rowid is the millisecond of its row's time, then a counter of 20 bits. Of records that are counted by values together, the upper 12 of these are an
// id of the values, so that postings alone answer histograms and facets.

const counterBits = 20n
const msMax = (1n << 43n) - 1n
const msMin = -(1n << 43n)
const rowsPerMs = 1n << counterBits
const counterMax = rowsPerMs - 1n

/** The millisecond of a time (ns) in a rowid. Times beyond the years 1691 and 2248 share the outermost milliseconds. */
export const msOf = (timeNs: bigint): bigint => clamp(stepsBelow(timeNs, 1_000_000n), msMin, msMax)

export const isOutermost = (ms: bigint): boolean => ms === msMin || ms === msMax
export const firstRow = (ms: bigint): bigint => ms << counterBits
export const lastRow = (ms: bigint): bigint => firstRow(ms) + counterMax
export const msOfRow = (row: bigint): bigint => row >> counterBits

/** The bits of the counter below the id of a row's values. */
const repeatBits = 8n
const rowsPerId = 1 << Number(repeatBits)
const repeatMax = BigInt(rowsPerId - 1)
/** The ids below this one encode no values, which are then only in the row. A file assigns the other ids as it meets values. */
export const unknownValueIds = 256
export const isToldId = (id: number): boolean => id >= unknownValueIds
/** The number of all ids. */
export const valueIds = rowsPerMs >> repeatBits
export const valueIdMax = Number(valueIds - 1n)
export const firstRowOf = (ms: bigint, valueId: number): bigint => firstRow(ms) + BigInt(valueId * rowsPerId)
/** The last one of those that begin with `firstRowOf`. */
export const lastRowFrom = (first: bigint): bigint => first + repeatMax
export const valueIdOf = (row: bigint): number => Math.floor(Number(row & counterMax) / rowsPerId)
/** The same of rowids in SQL. */
export const msSql = (rowid: string): string => `(${rowid} >> ${counterBits})`
export const valueIdSql = (rowid: string): string => `((${rowid} & ${counterMax}) >> ${repeatBits})`
