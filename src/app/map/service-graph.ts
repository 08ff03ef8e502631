import type { SpanKind } from '#src/events/telemetry.ts'
import { mapInTurns } from '#src/lib/in-turns.ts'
import { byDuration } from '../search/percentile.ts'
import type { CallTarget } from './call-target.ts'

/** The part of a span that a map needs. */
export type MapSpan = Readonly<{
  traceId: string
  spanId: string
  parentId: string | null
  service: string
  kind: SpanKind
  isError: boolean
  durationNs: bigint
  /** Linked spans, possibly of other traces. */
  links: readonly Readonly<{ traceId: string; spanId: string }>[]
  /** What its attributes say that it calls, or got its message from. Also undefined if it is not known whether that target has sent spans. */
  target: CallTarget | undefined
}>

/** A trace as far as it was read. `isWhole`: these are all its stored spans. `missing`: ids of spans that are known of but not stored. */
export type MapTrace = Readonly<{ spans: readonly MapSpan[]; isWhole: boolean; missing: ReadonlySet<string> }>

export type SpanPlace = Readonly<{ traceId: string; spanId: string }>

export type MapNode = Readonly<{
  key: string
  /** A service that has sent spans, a target that only callers name, or the missing spans of any services. */
  kind: 'service' | CallTarget['kind'] | 'missing'
  name: string
  /** Its own spans for a service, the number of missing spans, otherwise 0. */
  spans: number
  errors: number
  /** Traces, or parts of them, that begin here: spans without a parent. */
  begins: number
  /** Durations, in ns and sorted, of its entry spans: those below a span of another service, or below none. */
  entries: readonly bigint[]
  failedEntries: number
  /** For what callers name; undefined for a service. */
  target: CallTarget | undefined
}>

/** Calls from one node to another. A call lasts as long as the callee's span, or, if there is none, as the caller's. */
export type MapEdge = Readonly<{
  key: string
  from: MapNode
  to: MapNode
  calls: number
  errors: number
  /** Calls of a service without a span of it: only the caller names it. */
  toldByCaller: number
  /** In ns, sorted. */
  durations: readonly bigint[]
  longest: SpanPlace & Readonly<{ ns: bigint }>
  failed: SpanPlace | undefined
}>

export type ServiceGraph = Readonly<{ nodes: readonly MapNode[]; edges: readonly MapEdge[] }>

type Grown<Item> = { -readonly [Name in keyof Item]: Item[Name] }
type GrownNode = Grown<Omit<MapNode, 'entries'>> & { entries: bigint[] }
type GrownEdge = Grown<Omit<MapEdge, 'durations'>> & { durations: bigint[] }

const placeKey = ({ traceId, spanId }: SpanPlace): string => `${traceId}/${spanId}`
const parentPlace = ({ traceId, parentId }: MapSpan): SpanPlace => ({ traceId, spanId: parentId ?? '' })

const ofCalls: readonly SpanKind[] = ['client', 'producer']
const withinOne: readonly SpanKind[] = ['internal', 'unspecified']

/** The parent of a span, and all senders of what it works on: the parent, and the spans whose messages it links to. */
type Senders = Readonly<{ parent: MapSpan | undefined; senders: readonly MapSpan[] }>

/** Finds the senders of each span, and the spans that were answered: by a span of the callee below them, or by a consumer's link. */
async function readSpans(traces: readonly MapTrace[]) {
  const byTrace = new Map<string, Map<string, MapSpan>>()
  for (const span of traces.flatMap(({ spans }) => spans)) {
    const ofTrace = byTrace.get(span.traceId) ?? new Map<string, MapSpan>()
    byTrace.set(span.traceId, ofTrace.set(span.spanId, span))
  }
  const at = ({ traceId, spanId }: SpanPlace): MapSpan | undefined => byTrace.get(traceId)?.get(spanId)

  const sendersOf = new Map<MapSpan, Senders>()
  const answered = new Set<MapSpan>()
  function read(span: MapSpan): void {
    const parent = at(parentPlace(span))
    const linked = span.kind === 'consumer' ? span.links.map(at) : []
    const senders = [parent, ...linked].filter((sender) => sender !== undefined)
    sendersOf.set(span, { parent, senders })
    for (const sender of senders) {
      if (sender.service !== span.service || !withinOne.includes(span.kind)) answered.add(sender)
    }
  }
  await mapInTurns(traces, ({ spans }) => spans.forEach(read))
  return { sendersOf, answered }
}

function createGraph() {
  const nodes = new Map<string, GrownNode>()
  const edges = new Map<string, GrownEdge>()

  function node(kind: MapNode['kind'], name: string, target?: CallTarget): GrownNode {
    const key = `${kind}/${name}`
    const begun = { key, kind, name, spans: 0, errors: 0, begins: 0, entries: [], failedEntries: 0, target }
    const found: GrownNode = nodes.get(key) ?? begun
    nodes.set(key, found)
    return found
  }

  function call(from: MapNode, to: MapNode, span: MapSpan, isToldByCaller = false): void {
    if (from === to) return
    const { traceId, spanId, durationNs, isError } = span
    const place = { traceId, spanId }
    const key = JSON.stringify([from.key, to.key])
    const longest = { ...place, ns: durationNs }
    const begun = { key, from, to, calls: 0, errors: 0, toldByCaller: 0, durations: [], longest, failed: undefined }
    const edge: GrownEdge = edges.get(key) ?? begun
    edges.set(key, edge)
    edge.calls += 1
    edge.durations.push(durationNs)
    if (isToldByCaller) edge.toldByCaller += 1
    if (isError) {
      edge.errors += 1
      edge.failed ??= place
    }
    if (durationNs > edge.longest.ns) edge.longest = longest
  }

  function made(): ServiceGraph {
    for (const { durations } of edges.values()) durations.sort(byDuration)
    for (const { entries } of nodes.values()) entries.sort(byDuration)
    return { nodes: [...nodes.values()], edges: [...edges.values()] }
  }
  return { nodes, node, call, made }
}

/**
 * Finds who calls whom in the spans of these traces. A span is a call if its parent is of another service, or if it links to the span of another
 * service whose message it works on. A calling span without such an answer is a call of the target in its attributes, or, if it asked for messages, a
 * call by that target. A span whose parent was not received is a call by what is missing. Nothing else counts as a call.
 */
export async function serviceGraph(traces: readonly MapTrace[]): Promise<ServiceGraph> {
  const { sendersOf, answered } = await readSpans(traces)
  const { nodes, node, call, made } = createGraph()
  for (const { spans } of traces) {
    for (const { service, isError } of spans) {
      const own = node('service', service)
      own.spans += 1
      own.errors += isError ? 1 : 0
    }
  }
  /** The node of a target: the service of that name, if there is one. */
  const named = (target: CallTarget): MapNode => {
    const service = target.kind === 'other' ? nodes.get(`service/${target.name}`) : undefined
    return service ?? node(target.kind, target.name, target)
  }
  const missing = new Set<string>()

  function enter({ service, durationNs, isError }: MapSpan): void {
    const own = node('service', service)
    own.entries.push(durationNs)
    own.failedEntries += isError ? 1 : 0
  }

  /** Handles a span whose parent is not among these. */
  function missingParent(span: MapSpan, { isWhole, missing: known }: MapTrace): void {
    if (!isWhole && !known.has(span.parentId ?? '')) return
    enter(span)
    call(node('missing', ''), node('service', span.service), span)
    missing.add(placeKey(parentPlace(span)))
  }

  /** Handles a span with nothing above it. */
  function beginning(span: MapSpan): void {
    const own = node('service', span.service)
    if (span.kind === 'consumer' && span.target?.kind === 'queue') call(named(span.target), own, span)
    else own.begins += 1
  }

  function add(span: MapSpan, trace: MapTrace): void {
    const { parent, senders } = sendersOf.get(span) ?? { parent: undefined, senders: [] }
    if (span.parentId !== null && parent === undefined) missingParent(span, trace)
    else {
      if (parent?.service !== span.service) enter(span)
      if (senders.length === 0) beginning(span)
    }
    const own = node('service', span.service)
    for (const service of new Set(senders.map((sender) => sender.service))) call(node('service', service), own, span)
    if (ofCalls.includes(span.kind) && !answered.has(span) && span.target !== undefined) {
      const other = named(span.target)
      if (span.target.isAskedForMessages === true) call(other, own, span)
      else call(own, other, span, true)
    }
  }

  await mapInTurns(traces, (trace) => {
    for (const span of trace.spans) add(span, trace)
  })
  if (missing.size > 0) node('missing', '').spans = missing.size
  return made()
}
