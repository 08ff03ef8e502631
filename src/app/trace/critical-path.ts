import { parseRfc3339Ns } from '#src/lib/time.ts'
import type { ShownSpan } from './span-tree.ts'

// What a trace waited for: from the end of its root back, always through the span below that ended last, as Jaeger finds it. But there, what
// outlived its parent takes the path from what the parent did wait for.

export type Section = Readonly<{ startNs: bigint; endNs: bigint }>

type Timed = Pick<ShownSpan, 'span_id' | 'parent_span_id' | 'start' | 'duration_ns' | 'kind'>

type Node<Span> = Section & Readonly<{ span: Span | undefined; below: Node<Span>[] }>

/** What of a span lies within its parent. */
type Part<Span> = Section & Readonly<{ node: Node<Span> }>
/**
 * One that is being walked through: up to where it is still to be told what it waited for, which part below is looked at next, and what below
 * was still at work when it ended.
 */
type Walk<Span> = {
  part: Part<Span>
  toNs: bigint
  below: readonly Part<Span>[]
  next: number
  outlived: Node<Span> | undefined
}

function nodeOf<Span extends Timed>(span: Span): Node<Span> {
  const startNs = parseRfc3339Ns(span.start) ?? 0n
  return { span, startNs, endNs: startNs + BigInt(span.duration_ns), below: [] }
}

/** Nobody waits for what takes a message from a queue after its sender has gone on. */
const isWaitedFor = <Span extends Timed>(child: Node<Span>, parent: Node<Span>): boolean =>
  child.span?.kind !== 'consumer' || child.endNs <= parent.endNs

const compare = (a: bigint, b: bigint): number => (a === b ? 0 : a < b ? -1 : 1)

/** Negative where the first ended later; of those that ended together, or were cut at one end, the one that ended first. */
const byEnd = <Span>(a: Part<Span>, b: Part<Span>): number =>
  compare(b.endNs, a.endNs) || compare(a.node.endNs, b.node.endNs)

/** Begins with a part of a span. Of its children that counts which lies within it, those that ended last first. */
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
 * What ended last below before the time that the walk is at: what was still at work then was not waited for. What outlived the span itself, as by
 * a clock that is ahead or after a time-out, stands where nothing else does: it may have been waited for, though not to its end.
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

/** Hangs each below its parent, and returns those that have none here. */
function hang<Span extends Timed>(spans: readonly Span[]): readonly Node<Span>[] {
  const nodes = spans.map((span) => [span, nodeOf(span)] as const)
  // The first that has an id: one of a trace that was continued may be stored twice.
  const byId = new Map(nodes.toReversed().map(([{ span_id: id }, node]) => [id, node]))
  return nodes.flatMap(([{ span_id: id, parent_span_id: parentId }, node]) => {
    const parent = parentId === null || parentId === id ? undefined : byId.get(parentId)
    parent?.below.push(node)
    return parent === undefined ? [node] : []
  })
}

/** All spans from the root down. Where a parent is missing, the only root is the one that called, be it through others. */
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
 * The parts of each span that lie on the critical path, the last first; spans that are not on it are left out. Together they take as long as the
 * root: what outlives its parent, or began before it by another clock, counts as far as it lies within. With several roots it goes back
 * from the last end of any.
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
