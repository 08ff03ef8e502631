import { clauseOf, oneLine } from '../search/clause.ts'
import { withConditions } from '../search/conditions.ts'
import { bearable, createNarrow } from '../search/narrow.ts'
import { listed } from '../search/search-parts.ts'
import type { CallTarget } from './call-target.ts'
import type { MapEdge, MapNode } from './service-graph.ts'

/** Conditions that are on a whole trace: what else there is must hold on the one span that a link asks for. */
const ofTraces = ['from', 'to', 'has', 'session_id', 'trace_id'] as const

/** The longest name that a search takes for a service. */
const serviceCharactersMax = 1_024

/** Where traces are searched for; undefined where no search says it. */
export type GraphLinks = Readonly<{
  node: (node: MapNode) => string | undefined
  edge: (edge: Pick<MapEdge, 'from' | 'to' | 'calls' | 'toldByCaller'>) => string | undefined
}>

/**
 * Searches of traces of the time and the marks that the map was asked by. A search asks for spans one by one: it finds what a call was answered by,
 * of whomever else it came, or what called somebody who has sent no span.
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
