import { clauseOf, oneLine } from '../search/clause.ts'
import { bearable, createNarrow } from '../search/narrow.ts'
import { hasMissingSpans } from '../search/asked.ts'
import type { ColourOf } from '../service-colours.ts'
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

/** Where nodes and edges lead, and the colours of services. */
export type Looks = Readonly<{ links: GraphLinks; colourOf: ColourOf }>

type Wanted = Readonly<{ service?: MapNode; kind?: 'client'; target?: CallTarget | undefined; isMissing?: boolean }>

/**
 * Searches of traces in the map's range and with its marks. A search looks at single spans: it finds what a service answered, whoever called it, or
 * what called a target that sends no spans.
 */
export function createGraphLinks(conditions: URLSearchParams): GraphLinks {
  const kept = new URLSearchParams([...conditions].filter(([name]) => (ofTraces as readonly string[]).includes(name)))

  /** `isMissing`: some span of the trace is missing. */
  function search({ service, kind, target, isMissing = false }: Wanted): string | undefined {
    if (service !== undefined && service.name.length > serviceCharactersMax) return undefined
    const asked = new URLSearchParams(kept)
    if (isMissing) asked.set('has', hasMissingSpans(kept))
    if (service !== undefined) asked.set('service', service.name)
    if (kind !== undefined) asked.set('kind', kind)
    if (target === undefined) return bearable(asked.size === 0 ? '/app/traces' : `/app/traces?${asked.toString()}`)
    const clauses = target.conditions.map(({ text, ...condition }) =>
      clauseOf({ ...condition, text: oneLine(text) }, false),
    )
    return createNarrow({ path: '/app/traces', conditions: asked, normalized: '' })(clauses.join(' AND '))
  }

  return {
    node(node) {
      if (node.kind === 'service') return search({ service: node })
      return node.kind === 'missing' ? search({ isMissing: true }) : search({ target: node.target })
    },
    edge({ from, to, calls, toldByCaller }) {
      if (to.kind !== 'service') return search({ service: from, target: to.target })
      if (from.kind === 'missing') return search({ service: to, isMissing: true })
      if (from.kind !== 'service') return search({ service: to, target: from.target })
      return toldByCaller === calls ? search({ service: from, kind: 'client' }) : search({ service: to })
    },
  }
}
