import type { MapEdge, MapNode, ServiceGraph } from './service-graph.ts'

/** Those with the most errors first, then the busiest, then by key. In a large system most have some errors: what is broken has more. */
const ranked = <Item extends Readonly<{ key: string; errors: number }>>(
  items: readonly Item[],
  weightOf: (item: Item) => number,
): readonly Item[] =>
  items.toSorted((a, b) => b.errors - a.errors || weightOf(b) - weightOf(a) || (a.key < b.key ? -1 : 1))

export const rankedEdges = (edges: readonly MapEdge[]): readonly MapEdge[] => ranked(edges, ({ calls }) => calls)

/** Ranked by their spans and the calls that they make and receive. */
export function rankedNodes({ nodes, edges }: ServiceGraph): readonly MapNode[] {
  const calls = new Map<MapNode, number>()
  for (const { from, to, calls: count } of edges) {
    for (const node of [from, to]) calls.set(node, (calls.get(node) ?? 0) + count)
  }
  return ranked(nodes, (node) => (calls.get(node) ?? 0) + node.spans)
}
