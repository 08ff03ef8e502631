import { bareName } from '#src/events/tokens.ts'
import { ownSpanField } from '#projections/traces/query.ts'
import type { Html } from '../html.ts'
import { besideOwn, canBeNamed, oneLine, type Condition, type OwnValues } from '../search/clause.ts'
import { conditionsAround, createNarrow } from '../search/narrow.ts'
import { createValueLinks, noLinks, type LinksOf } from '../search/value-links.ts'
import type { ShownSpan } from './span-tree.ts'

/** What the attributes belong to. */
type Owner = 'span' | 'event' | 'resource' | 'scope'

const ownValues = (span: ShownSpan): OwnValues => ({
  service: span.service,
  operation: span.name,
  kind: span.kind,
  status: span.status.code,
  trace_id: span.trace_id,
  span_id: span.span_id,
  parent_span_id: span.parent_span_id,
  session_id: span.session_id,
})

/** A condition that finds this span by an attribute; undefined if there is none. */
function conditionOf(span: ShownSpan, owner: Owner, field: string, value: string): Condition | undefined {
  if (!canBeNamed(field)) return undefined
  const condition = { field: oneLine(field), operator: '=', text: oneLine(value) } as const
  // The span's own service is used, because a service has as many resources as it had processes.
  if (owner === 'resource' && field === 'service.name' && condition.text === span.service) {
    return { ...condition, field: 'service' }
  }
  const own = ownSpanField(field)
  if (own === undefined || owner === 'span') return besideOwn(condition, own, ownValues(span))
  return { ...condition, field: `${owner}.${bareName(field)}` }
}

/** Links beside a span's values, by what these belong to. */
export type SpanLinks = (owner: Owner | 'facts') => LinksOf

export const noSpanLinks: SpanLinks = () => noLinks

/** The facts of a span that a search can use. */
const facts: ReadonlySet<string> = new Set(['service', 'operation', 'kind', 'status'])

/** Links to a trace search around the span's time. */
function createSpanLinks(span: ShownSpan, nowMs: number): SpanLinks {
  const conditions = conditionsAround(span.start, nowMs)
  const narrow = createNarrow({ path: '/app/traces', conditions, normalized: '' })
  const linksOf = (owner: Owner): LinksOf =>
    createValueLinks({ narrow, noun: 'spans', conditionOf: (field, text) => conditionOf(span, owner, field, text) })
  return (owner) => {
    if (owner !== 'facts') return linksOf(owner)
    const ofSpan = linksOf('span')
    // The page shows the status together with its message.
    return (name, value) => (facts.has(name) ? ofSpan(name, name === 'status' ? span.status.code : value) : undefined)
  }
}

/** Links stop after this many characters of values, so that a page of a thousand spans stays usable. */
const linkedCharactersMax = 250_000

/** Makes links for the spans of a page while there is room. `take` counts what has been shown. */
export type LinkRoom = Readonly<{
  linksOf: (span: ShownSpan) => SpanLinks
  take: (shown: Html) => Html
  isFull: () => boolean
}>

/** `asked`: the span that gets links in any case. */
export function createLinkRoom(nowMs: number, asked: string | undefined): LinkRoom {
  let characters = 0
  const isFull = (): boolean => characters > linkedCharactersMax
  return {
    linksOf: (span) => (isFull() && span.span_id !== asked ? noSpanLinks : createSpanLinks(span, nowMs)),
    take(shown) {
      characters += shown.markup.length
      return shown
    },
    isFull,
  }
}
