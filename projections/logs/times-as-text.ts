import type { QueryTree } from '#src/events/query-tree.ts'
import { bareName } from '#src/events/tokens.ts'
import { timeNames } from '#src/wire/logs/aliases.ts'
import { parseTime } from '#src/wire/logs/time.ts'
import { isLeaf } from '../field-query.ts'

const names: ReadonlySet<string> = new Set(timeNames.map(bareName))
/** RFC 3339 and what is like it, to the minute at least. A day alone may stand in a message. */
const dayAndTime = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d/i

/**
 * The parts of a search that look for a time as text, as they may be typed. The field by which a log is dated is no text (record-tokens.ts), so most
 * of them meet nothing.
 */
export function timesAsText(tree: QueryTree): readonly string[] {
  if (!isLeaf(tree)) return tree.kind === 'not' ? timesAsText(tree.of) : tree.of.flatMap(timesAsText)
  if (tree.kind === 'text') return dayAndTime.test(tree.text) ? [tree.text] : []
  if (tree.kind === 'match') return isTime(tree.field, tree.text) ? [`${tree.field}:${tree.text}`] : []
  if (tree.kind === 'equals') return isTime(tree.field, tree.value) ? [`${tree.field}=${tree.value}`] : []
  if (tree.kind !== 'pattern' || tree.field === null || !names.has(bareName(tree.field))) return []
  return [`${tree.field}:${tree.pattern}`]
}

const isTime = (field: string, text: string): boolean => names.has(bareName(field)) && parseTime(text) !== undefined
