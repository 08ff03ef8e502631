import { expect } from 'chai'
import { rankedEdges, rankedNodes } from '#src/app/map/ranking.ts'
import type { MapEdge, MapNode } from '#src/app/map/service-graph.ts'

const node = (key: string, spans: number, errors = 0): MapNode => ({ key, spans, errors }) as MapNode
const edge = (from: MapNode, to: MapNode, calls: number, errors = 0): MapEdge =>
  ({ key: `${from.key}>${to.key}`, from, to, calls, errors }) as MapEdge

describe('what a map of services shows first', () => {
  it('is what has the most errors, however busy others are that have some', () => {
    const [busy, broken] = [node('busy', 900, 1), node('broken', 9, 8)]
    expect(rankedNodes({ nodes: [busy, broken], edges: [] })).to.deep.equal([broken, busy])
    const [often, failing] = [edge(busy, broken, 500, 2), edge(broken, busy, 7, 7)]
    expect(rankedEdges([often, failing])).to.deep.equal([failing, often])
  })

  it('is what has errors, then what is busiest by its spans and its calls, to it and from it, then by name', () => {
    const [a, b, c, d, failed] = [node('a', 1), node('b', 2), node('c', 4), node('d', 4), node('failed', 1, 1)]
    // a: 1 + 2 + 2 + 3, b: 2 + 2 + 2, c: 4 + 3, d: 4
    const edges = [edge(a, b, 2), edge(b, a, 2), edge(a, c, 3)]
    const keysOf = (nodes: readonly MapNode[]) => rankedNodes({ nodes, edges }).map(({ key }) => key)
    expect(keysOf([d, c, b, failed, a])).to.deep.equal(['failed', 'a', 'c', 'b', 'd'])
    expect(keysOf([a, failed, b, c, d])).to.deep.equal(['failed', 'a', 'c', 'b', 'd'])
    const nearly = [edge(a, d, 1, 1), ...edges]
    expect(rankedEdges(nearly.toReversed()).map(({ key }) => key)).to.deep.equal(['a>d', 'a>c', 'a>b', 'b>a'])
    expect(rankedEdges(nearly).map(({ key }) => key)).to.deep.equal(['a>d', 'a>c', 'a>b', 'b>a'])
  })
})
