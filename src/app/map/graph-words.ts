import { counted, inWords } from '../context.ts'
import { cut, formatDuration, isolatedText, isUnseen, nameCharactersMax, named } from '../format.ts'
import { html, type Html } from '../html.ts'
import { percentile } from '../search/percentile.ts'
import type { ColourOf } from '../service-colours.ts'
import type { MapEdge, MapNode } from './service-graph.ts'

/** What its callers call a database has sent nothing itself. */
const kinds: Readonly<Record<MapNode['kind'], string>> = {
  service: '',
  database: 'database',
  queue: 'queue',
  other: 'named by callers',
  missing: '',
}

const withErrors = (words: string, errors: number): string =>
  errors > 0 ? `${words}, ${counted(errors, 'error')}` : words

/** A node's name as plain text; missing spans have none. */
export function plainName({ kind, name }: MapNode): string {
  if (kind === 'missing') return 'missing spans'
  return isUnseen(name) ? 'no name' : name
}

/** The facts below a node's name. */
export function factsOf({ kind, spans, errors }: MapNode): string {
  if (kind === 'service') return withErrors(counted(spans, 'span'), errors)
  return kind === 'missing' ? counted(spans, 'span') : kinds[kind]
}

const titleName = (node: MapNode): string => isolatedText(cut(plainName(node), nameCharactersMax))

export function nodeWords(node: MapNode): string {
  const begins = node.begins > 0 ? `, ${counted(node.begins, 'trace')} begin${node.begins === 1 ? 's' : ''} here` : ''
  return `${titleName(node)}: ${factsOf(node)}${begins}`
}

/** A percentile of sorted durations, as pages write it. */
export const durationOf = (durations: readonly bigint[], hundredths: number): string =>
  formatDuration(percentile(durations, hundredths))

export function edgeWords(edge: MapEdge): string {
  const { from, to, calls, errors, durations } = edge
  const times = `p50 ${durationOf(durations, 50)}, p95 ${durationOf(durations, 95)}`
  return `${titleName(from)} to ${titleName(to)}: ${withErrors(counted(calls, 'call'), errors)}, ${times}`
}

export const edgeLabel = ({ calls, errors }: MapEdge): string => withErrors(inWords(calls), errors)

/** A node's name in a table, in its colour. */
export function nodeName(node: MapNode, colourOf: ColourOf): Html {
  const { kind, name } = node
  if (kind === 'missing') return html`<em>${plainName(node)}</em>`
  if (kind === 'service') return html`<strong class="${colourOf(name)}">${named(name)}</strong>`
  return html`${named(name)} <small class="note">${kinds[kind]}</small>`
}
