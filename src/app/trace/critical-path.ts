import { timesOf } from './shown-range.ts'
import type { ShownSpan } from './span-tree.ts'

// Finds what a trace waited for: back from the end of its root, always through the child that ended last, as Jaeger does. Unlike in Jaeger, a child
// that outlived its parent does not displace what the parent did wait for.

export type Section = Readonly<{ startNs: bigint; endNs: bigint }>

type Timed = Pick<ShownSpan, 'span_id' | 'parent_span_id' | 'start' | 'duration_ns' | 'kind'>

type Node<Span> = Section & Readonly<{ span: Span | undefined; below: Node<Span>[] }>

/** The part of a span that lies within its parent. */
type Part<Span> = Section & Readonly<{ node: Node<Span> }>
/**
 * A walk through a span's part: `toNs` is the time up to which it is still open what the span waited for; `next` is the index of the child to look at
 * next; `outlived` is the child that ended first of those still running when the span ended.
 */
type Walk<Span> = {
  part: Part<Span>
  toNs: bigint
  below: readonly Part<Span>[]
  next: number
  outlived: Node<Span> | undefined
}

const nodeOf = <Span extends Timed>(span: Span): Node<Span> => ({ span, ...timesOf(span), below: [] })

/** Nobody waits for a consumer that ends after its sender has gone on. */
const isWaitedFor = <Span extends Timed>(child: Node<Span>, parent: Node<Span>): boolean =>
  child.span?.kind !== 'consumer' || child.endNs <= parent.endNs

const compare = (a: bigint, b: bigint): number => (a === b ? 0 : a < b ? -1 : 1)

/** Sort order: the later end first; with equal ends, as after cutting, the child that really ended first. */
const byEnd = <Span>(a: Part<Span>, b: Part<Span>): number =>
  compare(b.endNs, a.endNs) || compare(a.node.endNs, b.node.endNs)

/** Begins a walk. Only children that lie within the part count, the last to end first. */
function walkOf<Span extends Timed>(part: Part<Span>): Walk<Span> {
  const { node, startNs, endNs } = part
  const atWork = node.below.filter(
    (child) => child.startNs < endNs && child.endNs > startNs && isWaitedFor(child, node),
  )
  const below = atWork
    .filter((child) => child.endNs <= node.endNs)
    .map((child) => ({
      node: child,
      startNs: child.startNs > startNs ? child.startNs : startNs,
      endNs: child.endNs < endNs ? child.endNs : endNs,
    }))
    .toSorted(byEnd)
  const [outlived] = atWork
    .filter((child) => child.endNs > node.endNs)
    .toSorted((a, b) => compare(a.endNs, b.endNs) || compare(a.startNs, b.startNs))
  return { part, toNs: endNs, below, next: 0, outlived }
}

/**
 * The last child that ended before the walk's time; children still running then were not waited for. A child that outlived the span, because its
 * clock is ahead or after a time-out, fills the time that no other child does: it may have been waited for, though not to its end.
 */
function takeNext<Span>(walk: Walk<Span>): Part<Span> | undefined {
  const { below, outlived, toNs } = walk
  while ((below[walk.next]?.endNs ?? toNs) > toNs) walk.next += 1
  const ended = below[walk.next]
  const fromNs = ended?.endNs ?? walk.part.startNs
  if (outlived !== undefined && fromNs < toNs && outlived.startNs < toNs)
    return { node: outlived, startNs: outlived.startNs > fromNs ? outlived.startNs : fromNs, endNs: toNs }
  walk.next += 1
  return ended
}

/** Attaches each span to its parent, and returns those without a parent here. */
function hang<Span extends Timed>(spans: readonly Span[]): readonly Node<Span>[] {
  const nodes = spans.map((span) => [span, nodeOf(span)] as const)
  // The first span of an id counts: a span of a continued trace may be stored twice.
  const byId = new Map(nodes.toReversed().map(([{ span_id: id }, node]) => [id, node]))
  return nodes.flatMap(([{ span_id: id, parent_span_id: parentId }, node]) => {
    const parent = parentId === null || parentId === id ? undefined : byId.get(parentId)
    parent?.below.push(node)
    return parent === undefined ? [node] : []
  })
}

/** All spans as a tree. Spans with a missing parent go below the only root: it called them, perhaps through others. */
function treeOf<Span extends Timed>(spans: readonly Span[]): Node<Span> | undefined {
  const tops = hang(spans)
  const [root, ...otherRoots] = tops.filter(({ span }) => span?.parent_span_id === null)
  if (root !== undefined && otherRoots.length === 0) {
    for (const top of tops) if (top !== root) root.below.push(top)
    return root
  }
  const [first] = tops.toSorted((a, b) => (a.startNs < b.startNs ? -1 : 1))
  const [last] = tops.toSorted((a, b) => (a.endNs > b.endNs ? -1 : 1))
  if (first === undefined || last === undefined) return undefined
  return { span: undefined, startNs: first.startNs, endNs: last.endNs, below: [...tops] }
}

/**
 * The parts of each span on the critical path, the last first; spans without any are left out. Together the parts take as long as the root: what
 * outlives its parent, or began before it by another clock, counts only as far as it lies within. With several roots the path goes back from the
 * latest end.
 */
export function criticalPath<Span extends Timed>(spans: readonly Span[]): ReadonlyMap<Span, readonly Section[]> {
  const path = new Map<Span, Section[]>()
  const root = treeOf(spans)
  if (root === undefined) return path
  const add = ({ span }: Node<Span>, startNs: bigint, endNs: bigint): void => {
    if (span === undefined || startNs >= endNs) return
    const sections = path.get(span)
    if (sections === undefined) path.set(span, [{ startNs, endNs }])
    else sections.push({ startNs, endNs })
  }
  const open = [walkOf({ node: root, startNs: root.startNs, endNs: root.endNs })]
  for (let walk = open.at(-1); walk !== undefined; walk = open.at(-1)) {
    const { node, startNs } = walk.part
    const child = takeNext(walk)
    add(node, child?.endNs ?? startNs, walk.toNs)
    if (child === undefined) open.pop()
    else {
      walk.toNs = child.startNs
      open.push(walkOf(child))
    }
  }
  return path
}

export const lengthOf = (sections: readonly Section[]): bigint =>
  sections.reduce((sum, { startNs, endNs }) => sum + endNs - startNs, 0n)
