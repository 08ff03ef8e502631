import type { RefusedSpan, SharedAttributes } from '#src/events/telemetry.ts'
import { present } from '#src/lib/assert.ts'
import { dayOf } from '#src/lib/day.ts'
import { memoize } from '#src/lib/memoize.ts'
import { sortableOrdinal, type DecodedEvent, type Documents, type Key, type Projection } from '../projection.ts'
import { sortableTime, timeOfSortable } from './sortable-time.ts'
import {
  attributeSets,
  spanDocument,
  spanRecordId,
  spans,
  type SpanRecord,
  type SupersededSpan,
} from './span-document.ts'
import { holderIn } from './spans-of-parts.ts'
import { emptyTrace, traces, type TraceDocument } from './trace-document.ts'
import {
  addRefusedSpans,
  addSpans,
  emptyPart,
  parts,
  partSpansMax,
  roomIn,
  rowIndex,
  startsOf,
  type ArrivedSpan,
  type TracePart,
} from './trace-part.ts'
import { sessionsMax, summarize, type SpansSummary } from './trace-summary.ts'

/** What one event says of one trace. */
type TraceNews = {
  readonly traceId: string
  readonly arrived: Map<string, ArrivedSpan>
  readonly refused: RefusedSpan[]
  readonly sessions: Set<string>
  logs: boolean
  rum: boolean
}
type News = Readonly<{ traces: ReadonlyMap<string, TraceNews>; attributeSets: ReadonlyMap<string, SharedAttributes> }>

const isTraceId = (text: string): boolean => /^(?!0{32})[0-9a-f]{32}$/.test(text)

/** What the event says, gathered once: `needs` is asked several times before the fold. */
const newsOf = memoize((event: DecodedEvent): News => {
  const byTrace = new Map<string, TraceNews>()
  const sets = new Map<string, SharedAttributes>()
  const of = (traceId: string): TraceNews => {
    const known = byTrace.get(traceId)
    if (known !== undefined) return known
    const news = { traceId, arrived: new Map(), refused: [], sessions: new Set<string>(), logs: false, rum: false }
    byTrace.set(traceId, news)
    return news
  }
  for (const span of event.spans()) {
    const { arrived } = of(span.traceId)
    arrived.set(span.spanId, { span, copies: (arrived.get(span.spanId)?.copies ?? 0) + 1 })
    sets.set(span.resource.hash, span.resource).set(span.scope.hash, span.scope)
  }
  for (const { traceId, sessionId } of event.logs()) {
    if (traceId === null) continue
    of(traceId).logs = true
    if (sessionId !== null) of(traceId).sessions.add(sessionId)
  }
  for (const { traceId, sessionId } of event.rumEvents()) {
    if (traceId === null) continue
    of(traceId).rum = true
    if (sessionId !== null) of(traceId).sessions.add(sessionId)
  }
  for (const refused of event.refusedSpans()) if (isTraceId(refused.traceId)) of(refused.traceId).refused.push(refused)
  return { traces: byTrace, attributeSets: sets }
})

type Get = Pick<Documents, 'get'>

const traceKey = (traceId: string): Key<TraceDocument> => ({ collection: traces, id: traceId })
const partKey = (traceId: string, generation: string, number: number): Key<TracePart> => ({
  collection: parts,
  id: `${traceId}/${generation}/${sortableOrdinal(number)}`,
})
const changesParts = ({ arrived, refused }: TraceNews): boolean => arrived.size + refused.length > 0

/** The day of the trace's document; a new document gets the event's day. */
const generationOf = (traceId: string, event: DecodedEvent, documents: Get): string =>
  documents.get(traceKey(traceId))?.generation ?? dayOf(event.event.receivedAt)

/**
 * The parts of a trace, from the first up to one that surely has room for the news. Parts fill in order, so all after a part with room are empty.
 * Undefined: does not exist (or, in `needs`, is not loaded).
 */
function chainOf(
  { traceId, arrived }: TraceNews,
  generation: string,
  documents: Get,
): readonly (TracePart | undefined)[] {
  const chain: (TracePart | undefined)[] = []
  for (let room = 0; chain.length === 0 || room < Math.max(1, arrived.size);) {
    const part = documents.get(partKey(traceId, generation, chain.length))
    chain.push(part)
    room += roomIn(part)
  }
  return chain
}

function neededParts(news: TraceNews, event: DecodedEvent, loaded: Get): readonly Key<never>[] {
  const generation = generationOf(news.traceId, event, loaded)
  const { length } = chainOf(news, generation, loaded)
  const known = loaded.get(traceKey(news.traceId))?.summary.partCount ?? 0
  // After a crash the chain may be longer than the trace says. Naming twice as many parts finds its end in a few rounds.
  const unexpected = length > known + 1 + Math.ceil(news.arrived.size / partSpansMax)
  const count = Math.max(known, unexpected ? length * 2 : length)
  return Array.from({ length: count }, (_, number) => partKey(news.traceId, generation, number))
}

function needs(event: DecodedEvent, loaded: Get): readonly Key<never>[] {
  const { traces, attributeSets: sets } = newsOf(event)
  const keys: Key<never>[] = [...sets.keys()].map((id) => ({ collection: attributeSets, id }))
  for (const news of traces.values()) {
    keys.push(traceKey(news.traceId))
    if (changesParts(news)) keys.push(...neededParts(news, event, loaded))
  }
  return keys
}

/** The spans of each part, by its number, and which of them were stored before. */
type Placed = Readonly<{ placed: readonly (readonly ArrivedSpan[])[]; known: ReadonlySet<string> }>

/** Assigns spans to parts: to the part that holds them already, or else to the first with room. */
function placeSpans(chain: readonly (TracePart | undefined)[], news: TraceNews): Placed {
  const placed: ArrivedSpan[][] = chain.map(() => [])
  const room = chain.map(roomIn)
  const partOf = holderIn(chain.filter((part) => part !== undefined))
  const known = new Set<string>()
  let open = 0
  for (const arrived of news.arrived.values()) {
    const { spanId } = arrived.span
    const holder = partOf(spanId)
    if (holder !== undefined) {
      known.add(spanId)
      placed[holder]?.push(arrived)
      continue
    }
    while (room[open] === 0) open++
    present(placed[open], 'a part with room for the span').push(arrived)
    room[open] = (room[open] ?? 0) - 1
  }
  return { placed, known }
}

/** Writes the spans, and which of their records are superseded. `partAt`: the parts as folded. */
function putSpans(
  news: TraceNews,
  { placed, known }: Placed,
  partAt: (number: number) => TracePart | undefined,
  documents: Documents,
): void {
  const superseded: SupersededSpan = { superseded: true }
  const keyOf = (startNs: bigint, spanId: string): Key<SpanRecord> => ({
    collection: spans,
    id: spanRecordId(startNs, news.traceId, spanId),
  })
  const leftOut = new Set<string>()
  for (const [number, arrived] of placed.entries()) {
    const part = partAt(number)
    if (part === undefined || part.formerStarts.length === 0) continue
    for (const { span } of arrived) {
      const { spanId } = span
      const row = rowIndex(part).get(spanId)
      if (row === undefined) continue
      const start = sortableTime(span.startNs)
      const { own, former } = startsOf(part, row)
      if (start !== own && !former.includes(start)) leftOut.add(spanId)
      else
        for (const other of former)
          if (other !== start) documents.put(keyOf(timeOfSortable(other), spanId), superseded, { replaces: true })
    }
  }
  for (const { span } of news.arrived.values()) {
    if (leftOut.has(span.spanId)) continue
    documents.put(keyOf(span.startNs, span.spanId), spanDocument(span), { replaces: known.has(span.spanId) })
  }
}

/** The sum of a trace's parts, and whether this event has changed them. */
type FoldedParts = Readonly<{ summary: SpansSummary; isChanged: boolean }>

/**
 * Folds the news into the parts and returns their sum. A replay may meet a part that is ahead: it already contains this event and later ones. Its
 * spans are found there, so the spans of other parts get the same places as before. Such a part counts as changed by this event, as it was the
 * first time. If it was not (the event only held a known refusal), a later event of the replay has changed it, and the trace ends at that
 * position in any case.
 */
function foldParts(news: TraceNews, event: DecodedEvent, documents: Documents): FoldedParts {
  const generation = generationOf(news.traceId, event, documents)
  const chain = chainOf(news, generation, documents)
  const places = placeSpans(chain, news)
  let isChanged = false
  for (const [number, arrived] of places.placed.entries()) {
    const refused = number === 0 ? news.refused : []
    if (arrived.length + refused.length === 0) continue
    let isNews = true
    documents.update(partKey(news.traceId, generation, number), (part = emptyPart(news.traceId, number)) => {
      const next = addRefusedSpans(addSpans(part, arrived, event.event.position), refused)
      isNews = next !== part
      return next
    })
    isChanged ||= isNews
  }
  const folded = chain.map((_, number) => documents.get(partKey(news.traceId, generation, number)))
  putSpans(news, places, (number) => folded[number], documents)
  return { summary: summarize(folded.filter((part) => part !== undefined)), isChanged }
}

function joinSessions(joined: readonly string[], sessions: ReadonlySet<string>): readonly string[] {
  const fresh = [...sessions].filter((session) => !joined.includes(session))
  return fresh.length === 0 || joined.length >= sessionsMax ? joined : [...joined, ...fresh].slice(0, sessionsMax)
}

const isSame = (a: SpansSummary, b: SpansSummary): boolean => JSON.stringify(a) === JSON.stringify(b)

/**
 * The trace with the news; the same object if they change nothing. An event that changes a part also changes the trace, even if the sum stays the
 * same: a replay may find the sum of later events there already, and the trace must still end at the position of the last one.
 */
function foldTrace(trace: TraceDocument, news: TraceNews, { summary, isChanged }: FoldedParts): TraceDocument {
  const next = {
    ...trace,
    summary: isSame(trace.summary, summary) ? trace.summary : summary,
    hasLogs: trace.hasLogs || news.logs,
    hasRum: trace.hasRum || news.rum,
    joinedSessions: joinSessions(trace.joinedSessions, news.sessions),
  }
  const changed =
    isChanged ||
    next.hasLogs !== trace.hasLogs ||
    next.hasRum !== trace.hasRum ||
    next.joinedSessions !== trace.joinedSessions
  return changed ? next : trace
}

function fold(event: DecodedEvent, documents: Documents): void {
  const { traces, attributeSets: sets } = newsOf(event)
  for (const [id, set] of sets) documents.update({ collection: attributeSets, id }, (known) => known ?? set)
  for (const news of traces.values()) {
    const generation = generationOf(news.traceId, event, documents)
    const folded = changesParts(news) ? foldParts(news, event, documents) : undefined
    documents.update(traceKey(news.traceId), (trace = emptyTrace(news.traceId, generation)) =>
      foldTrace(trace, news, folded ?? { summary: trace.summary, isChanged: false }),
    )
  }
}

/**
 * Traces, their spans, and what is known to be missing. A span counts once per id; if it is sent again, that is a repeat, and the version at the
 * highest position wins, of the first 33 starts that it is sent with (trace-part.ts).
 */
export const tracesProjection: Projection = {
  name: 'traces',
  version: 24,
  handles: ['spans.received', 'logs.received', 'rum.received', 'spans.refused'],
  collections: { traces, parts, spans, attributeSets },
  needs,
  fold,
}
