import type { Filter } from '../../index-store.ts'
import type { CollectionShape } from '../row.ts'
import { numberColumn } from './layout.ts'

type Shape = Pick<CollectionShape, 'countedWhere'>

/** Whether counts are kept for a row. `numberOf`: its value of a number field. */
export function isCounted({ countedWhere }: Shape, numberOf: (field: string) => unknown): boolean {
  if (countedWhere === undefined) return true
  const number = numberOf(countedWhere.field)
  return typeof number === 'bigint' && (countedWhere.from === undefined || number >= BigInt(countedWhere.from))
}

/** The same in SQL, appended to other conditions. `row`: the prefix of columns. */
export function countedSql({ countedWhere }: Shape, row = ''): string {
  if (countedWhere === undefined) return ''
  const column = `${row}${numberColumn(countedWhere.field)}`
  return ` AND ${column} IS NOT NULL${countedWhere.from === undefined ? '' : ` AND ${column} >= ${countedWhere.from}`}`
}

/** What a filter asks beyond this condition; undefined if it does not contain the condition. */
export function askedBeyond({ countedWhere }: Shape, filter: Filter): Filter | undefined {
  if (countedWhere === undefined) return filter
  const { field, from } = countedWhere
  const isWhere = (part: Filter): boolean =>
    part.kind === 'number' && part.field === field && part.from === from && part.to === undefined
  if (isWhere(filter)) return { kind: 'all' }
  if (filter.kind !== 'and' || !filter.of.some(isWhere)) return undefined
  const rest = filter.of.filter((part) => !isWhere(part))
  // A single part is returned as the same object: compiled filters are known by identity.
  return rest.length === 1 ? rest[0] : { kind: 'and', of: rest }
}
