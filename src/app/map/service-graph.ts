import type { SpanKind } from '#src/events/telemetry.ts'
import { mapInTurns } from '#src/lib/in-turns.ts'
import { byDuration } from '../search/percentile.ts'
import type { CallTarget } from './call-target.ts'

/** What a map takes of a span. */
export type MapSpan = Readonly<{
  traceId: string
  spanId: string
  parentId: string | null
  service: string
  kind: SpanKind
  isError: boolean
  durationNs: bigint
  /** Spans, of whatever trace, that it links to. */
  links: readonly Readonly<{ traceId: string; spanId: string }>[]
  /** What it calls, or was sent by, as its attributes name it; undefined also where what was read may not tell whether that has sent spans. */
  target: CallTarget | undefined
}>

/** A trace as far as it was read. `isWhole`: these are all spans of it that are stored. `missing`: ids of spans that are known of and not stored. */
export type MapTrace = Readonly<{ spans: readonly MapSpan[]; isWhole: boolean; missing: ReadonlySet<string> }>

export type SpanPlace = Readonly<{ traceId: string; spanId: string }>

export type MapNode = Readonly<{
  key: string
  /** A service that has sent spans; what is known by its callers alone; or the spans that are missing, of whatever service. */
  kind: 'service' | CallTarget['kind'] | 'missing'
  name: string
  /** Of a service its own spans; of what is missing, how many spans; of others 0. */
  spans: number
  errors: number
  /** Traces, or parts of them, that begin here: spans without a parent. */
  begins: number
  /** How long its entry spans lasted: those below a span of another service, or below none. In ns, the shortest first. */
  entries: readonly bigint[]
  failedEntries: number
  /** What finds spans that name it; of a service none. */
  target: CallTarget | undefined
}>

/** Calls from one node to another; each lasted as long as the span of whom was called, or, where there is none, as that of the caller. */
export type MapEdge = Readonly<{
  key: string
  from: MapNode
  to: MapNode
  calls: number
  errors: number
  /** Calls of a service that it has sent no span of: its caller names it. */
  toldByCaller: number
  /** In ns, the shortest first. */
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

/** The span above one, and all that it was sent by: that one, and those whose messages it works on. */
type Senders = Readonly<{ parent: MapSpan | undefined; senders: readonly MapSpan[] }>

/** The senders of each span, and which spans have been answered: by a span below them of whom they called, or by a consumer's link. */
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
 * Who calls whom, by the spans of these traces. A call is a span below one of another service, or one that works on the message of such a span,
 * which it links to; a span that calls and was not answered by one of these counts as a call of what its attributes name, or, where it asked for
 * messages, by that. A parent that was not received is a call by what is missing. Nothing else is taken for a call.
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
  /** What only callers name: a service of that name where there is one. */
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

  /** A span whose parent is not among these. */
  function missingParent(span: MapSpan, { isWhole, missing: known }: MapTrace): void {
    if (!isWhole && !known.has(span.parentId ?? '')) return
    enter(span)
    call(node('missing', ''), node('service', span.service), span)
    missing.add(placeKey(parentPlace(span)))
  }

  /** A span that nothing among these stands above. */
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
