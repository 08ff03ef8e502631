import { parseSpanId, parseTraceId } from '#src/events/ids.ts'
import { bareName, besideOwn, canBeNamed, oneLine, type Condition, type Own } from './clause.ts'
import { conditionsAround, createNarrow } from './narrow.ts'
import type { ShownSpan } from './span-tree.ts'
import { createValueLinks, noLinks, type LinksOf } from './value-links.ts'

/** Whose attributes they are. */
type Owner = 'span' | 'event' | 'resource'

const oneOf =
  (...words: readonly string[]) =>
  (text: string): string | undefined =>
    words.find((word) => word === text.trim().toLowerCase())

const kindOf = oneOf('unspecified', 'internal', 'server', 'client', 'producer', 'consumer')
const statusOf = oneOf('unset', 'ok', 'error')

/** What a search of spans compares under these names. */
function ownOf(name: string, span: ShownSpan): Own | undefined {
  switch (name) {
    case 'service':
      return { value: span.service }
    case 'operation':
      return { value: span.name }
    case 'kind':
      return { value: span.kind, canonical: kindOf }
    case 'status':
      return { value: span.status.code, canonical: statusOf }
    case 'trace_id':
      return { value: span.trace_id, canonical: (text) => parseTraceId(text) ?? text.trim() }
    case 'span_id':
      return { value: span.span_id, canonical: (text) => parseSpanId(text) ?? text.trim() }
    case 'parent_span_id':
      return { value: span.parent_span_id, canonical: (text) => parseSpanId(text) ?? text.trim() }
    case 'session_id':
      return { value: span.session_id, canonical: (text) => text.trim() }
    case 'duration':
    case 'duration_ns':
      return { value: null, canonical: (text) => text }
    default:
      return undefined
  }
}

/** What finds this span by an attribute. */
function conditionOf(span: ShownSpan, owner: Owner, field: string, value: string): Condition | undefined {
  if (!canBeNamed(field)) return undefined
  const condition = { field: oneLine(field), operator: '=', text: oneLine(value) } as const
  // By the span's own service: there are as many resources of a service as it had processes.
  if (owner === 'resource' && field === 'service.name' && condition.text === span.service) {
    return { ...condition, field: 'service' }
  }
  const name = bareName(field)
  const own = ownOf(name, span)
  return own === undefined || owner === 'span' ? besideOwn(condition, own) : { ...condition, field: `${owner}.${name}` }
}

/** The links beside what a span has, by whose it is. */
export type SpanLinks = (owner: Owner | 'facts') => LinksOf

export const noSpanLinks: SpanLinks = () => noLinks

/** A span's own fields that can be searched, beside those that only tell of it. */
const facts: ReadonlySet<string> = new Set(['service', 'operation', 'kind', 'status'])

/** Links into a search of traces around its time. */
export function createSpanLinks(span: ShownSpan, nowMs: number): SpanLinks {
  const conditions = conditionsAround(span.start, nowMs)
  const narrow = createNarrow({ path: '/app/traces', conditions, normalized: '' })
  const linksOf = (owner: Owner): LinksOf =>
    createValueLinks({ narrow, noun: 'spans', conditionOf: (field, text) => conditionOf(span, owner, field, text) })
  return (owner) => {
    if (owner !== 'facts') return linksOf(owner)
    const ofSpan = linksOf('span')
    // The page says a status with its message.
    return (name, value) => (facts.has(name) ? ofSpan(name, name === 'status' ? span.status.code : value) : undefined)
  }
}
