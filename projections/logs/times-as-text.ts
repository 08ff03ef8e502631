import type { QueryTree } from '#src/events/query-tree.ts'
import { bareName } from '#src/events/tokens.ts'
import { timeNames } from '#src/wire/logs/aliases.ts'
import { parseTime } from '#src/wire/logs/time.ts'
import { leavesOf, type QueryLeaf } from '../reading/field-query.ts'

const names: ReadonlySet<string> = new Set(timeNames.map(bareName))
/** RFC 3339 and similar forms, at least to the minute. A date alone may be part of a message. */
const dayAndTime = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d/i

/**
 * The parts of a search that look for a time as text, written as they may be typed. The field that dates a log is not indexed as text
 * (reading/record-tokens.ts), so most of these find nothing.
 */
export const timesAsText = (tree: QueryTree): readonly string[] => leavesOf(tree).flatMap(timeIn)

function timeIn(leaf: QueryLeaf): readonly string[] {
  if (leaf.kind === 'text') return dayAndTime.test(leaf.text) ? [leaf.text] : []
  if (leaf.kind === 'match') return isTime(leaf.field, leaf.text) ? [`${leaf.field}:${leaf.text}`] : []
  if (leaf.kind === 'equals') return isTime(leaf.field, leaf.value) ? [`${leaf.field}=${leaf.value}`] : []
  if (leaf.kind !== 'pattern' || leaf.field === null || !names.has(bareName(leaf.field))) return []
  return [`${leaf.field}:${leaf.pattern}`]
}

const isTime = (field: string, text: string): boolean => names.has(bareName(field)) && parseTime(text) !== undefined
