import type { CorrelationAnswer } from '#src/query/searches.ts'

type Trace = NonNullable<CorrelationAnswer['trace']>
export type ShownSpan = Trace['spans'][number]
export type MissingSpan = Trace['missing'][number]

/** A line of a waterfall: a received span, or a missing one that is known of. */
export type TreeRow = Readonly<{ depth: number }> &
  (
    | Readonly<{ kind: 'span'; span: ShownSpan; parentIsElsewhere: boolean }>
    | Readonly<{ kind: 'missing'; missing: MissingSpan }>
  )

export const spanIdOf = (row: TreeRow): string => (row.kind === 'span' ? row.span : row.missing).span_id

type Start = Readonly<{ kind: 'span'; span: ShownSpan }> | Readonly<{ kind: 'missing'; missing: MissingSpan }>

function childrenOf(spans: readonly ShownSpan[]): ReadonlyMap<string, readonly ShownSpan[]> {
  const children = new Map<string, ShownSpan[]>()
  for (const span of spans) {
    const parent = span.parent_span_id ?? ''
    const siblings = children.get(parent) ?? []
    if (siblings.push(span) === 1) children.set(parent, siblings)
  }
  return children
}

/**
 * Spans below their parents, each once, in the order of `spans`. A missing span is placed above its children, possibly on several pages; one without
 * children here is at the end of the last page. A span whose parent is on another page is at the left, as is the first span of a cycle of ids.
 */
export function spanTree({
  spans,
  missing,
  next_cursor: next,
}: Pick<Trace, 'spans' | 'missing' | 'next_cursor'>): readonly TreeRow[] {
  const children = childrenOf(spans)
  const here = new Set(spans.map(({ span_id: id }) => id))
  const missingById = new Map(missing.map((each) => [each.span_id, each]))
  const rows: TreeRow[] = []
  const shown = new Set<ShownSpan | MissingSpan>()

  function walk(start: Start): void {
    const waiting: (readonly [Start, number])[] = [[start, 0]]
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const [node, depth] = next
      const shownNode = node.kind === 'span' ? node.span : node.missing
      if (shown.has(shownNode)) continue
      shown.add(shownNode)
      if (node.kind === 'missing') rows.push({ ...node, depth })
      else {
        const parent = node.span.parent_span_id
        const parentIsElsewhere = parent !== null && !here.has(parent) && !missingById.has(parent)
        rows.push({ ...node, depth, parentIsElsewhere })
      }
      const below = children.get(shownNode.span_id) ?? []
      for (const span of [...below].reverse()) waiting.push([{ kind: 'span', span }, depth + 1])
    }
  }

  for (const span of spans) {
    const parent = span.parent_span_id
    const lost = parent === null || here.has(parent) ? undefined : missingById.get(parent)
    if (lost !== undefined) walk({ kind: 'missing', missing: lost })
    else if (parent === null || !here.has(parent)) walk({ kind: 'span', span })
  }
  for (const span of spans) walk({ kind: 'span', span })
  const unnamed = next === null ? missing.filter(({ referenced_by: by }) => by.length === 0) : []
  for (const each of unnamed) walk({ kind: 'missing', missing: each })
  return rows
}

/** Lists nest up to this level: HTML parsers nest elements at most 512 deep. */
const levelMax = 100
/** The nesting level of a row's list; 0 without a row. */
export const levelOf = (row: TreeRow | undefined): number => Math.min(row?.depth ?? 0, levelMax)

/** How many rows follow each row in its list and nested lists. */
export function countsBelow(rows: readonly TreeRow[]): readonly number[] {
  const counts = rows.map(() => 0)
  const open: number[] = []
  for (const [at, row] of [...rows.entries(), [rows.length, undefined] as const]) {
    for (let last = open.at(-1); last !== undefined && levelOf(rows[last]) >= levelOf(row); last = open.at(-1)) {
      counts[last] = at - last - 1
      open.pop()
    }
    open.push(at)
  }
  return counts
}
