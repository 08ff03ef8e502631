import { compareText } from '#src/lib/compare-text.ts'
import type { SortKey } from '../index-store.ts'

/** The order of hits: by value, ties by id. */
export function compareSort(a: SortKey, b: SortKey): number {
  if (a.value !== b.value) return a.value < b.value ? -1 : 1
  return compareText(a.id, b.id)
}
