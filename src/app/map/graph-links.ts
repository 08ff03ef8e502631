import { clauseOf, oneLine } from '../search/clause.ts'
import { withConditions } from '../search/conditions.ts'
import { bearable, createNarrow } from '../search/narrow.ts'
import { listed } from '../search/asked.ts'
import type { CallTarget } from './call-target.ts'
import type { MapEdge, MapNode } from './service-graph.ts'

/** Conditions that apply to a whole trace. All others must hold on the single span that a link searches for. */
const ofTraces = ['from', 'to', 'has', 'session_id', 'trace_id'] as const

/** The longest name that a search takes for a service. */
const serviceCharactersMax = 1_024

/** Addresses of searches for the traces behind a node or an edge; undefined if no search finds them. */
export type GraphLinks = Readonly<{
  node: (node: MapNode) => string | undefined
  edge: (edge: Pick<MapEdge, 'from' | 'to' | 'calls' | 'toldByCaller'>) => string | undefined
}>

/**
 * Searches of traces in the map's range and with its marks. A search looks at single spans: it finds what a service answered, whoever called it, or
 * what called a target that sends no spans.
 */
export function createGraphLinks(conditions: URLSearchParams): GraphLinks {
  const kept = new URLSearchParams([...conditions].filter(([name]) => (ofTraces as readonly string[]).includes(name)))

  function search(
    more: Readonly<Record<string, string>>,
    target?: CallTarget,
    base: URLSearchParams = kept,
  ): string | undefined {
    const asked = withConditions(base, more)
    if (target === undefined) return bearable(asked.size === 0 ? '/app/traces' : `/app/traces?${asked.toString()}`)
    const clauses = target.conditions.map(({ text, ...condition }) =>
      clauseOf({ ...condition, text: oneLine(text) }, false),
    )
    return createNarrow({ path: '/app/traces', conditions: asked, normalized: '' })(clauses.join(' AND '))
  }

  function withMissing(): URLSearchParams {
    const has = [...new Set([...listed(kept, 'has'), 'missing_spans'])]
    return withConditions(kept, { has: has.join(',') })
  }

  const ofService = (
    { name }: MapNode,
    more: Readonly<Record<string, string>> = {},
    ...others: readonly [target?: CallTarget, base?: URLSearchParams]
  ): string | undefined =>
    name.length > serviceCharactersMax ? undefined : search({ service: name, ...more }, ...others)

  return {
    node(node) {
      if (node.kind === 'service') return ofService(node)
      return node.kind === 'missing' ? search({}, undefined, withMissing()) : search({}, node.target)
    },
    edge({ from, to, calls, toldByCaller }) {
      if (to.kind !== 'service') return ofService(from, {}, to.target)
      if (from.kind === 'missing') return ofService(to, {}, undefined, withMissing())
      if (from.kind !== 'service') return ofService(to, {}, from.target)
      return toldByCaller === calls ? ofService(from, { kind: 'client' }) : ofService(to)
    },
  }
}
