import type { Limits } from '#src/config.ts'
import type { SharedAttributes, Span, SpanEvent, SpanKind, SpanLink, SpanStatus } from '#src/events/telemetry.ts'
import { int64Max } from '#src/lib/int64.ts'
import type { Json } from '#src/lib/json.ts'
import { createBareObject } from './bare-object.ts'
import { cutText, serviceOf, sessionIdOf, shareAttributes } from './shared-attributes.ts'

export type DecodeLimits = Pick<
  Limits,
  | 'attributesPerRecordMax'
  | 'nestingDepthMax'
  | 'spanEventsPerSpanMax'
  | 'linksPerSpanMax'
  | 'recordBytesMax'
  | 'sessionIdCharactersMax'
>

/** By enum number (trace.proto, `StatusCode`). */
export const statusCodes: readonly SpanStatus['code'][] = ['unset', 'ok', 'error']

/** Attributes while they are read. */
export type BagDraft = {
  attributes: Record<string, Json>
  attributesSeen: number
  attributesKept: number
  /** As the sender counted them. */
  attributesDropped: number
}
export type SharedDraft = BagDraft & { name: string; version: string }
export type SpanEventDraft = BagDraft & { timeNs: bigint; name: string }
export type SpanLinkDraft = BagDraft & { traceId: string; spanId: string; traceState: string; flags: number }
export type SpanDraft = BagDraft & {
  traceId: string
  spanId: string
  parentSpanId: string | null
  traceState: string
  flags: number
  name: string
  kind: SpanKind
  startNs: bigint
  endNs: bigint
  statusCode: SpanStatus['code']
  statusMessage: string
  spanEvents: SpanEvent[]
  eventsSeen: number
  eventsDropped: number
  links: SpanLink[]
  linksSeen: number
  linksDropped: number
}

const createBag = (): BagDraft => ({
  attributes: createBareObject(),
  attributesSeen: 0,
  attributesKept: 0,
  attributesDropped: 0,
})
export const createShared = (): SharedDraft => ({ ...createBag(), name: '', version: '' })
// Each member is written out: there are thousands of spans and events, and spreading a bag would cost a tenth of decoding a span.
export const createSpanEvent = (): SpanEventDraft => ({
  attributes: createBareObject(),
  attributesSeen: 0,
  attributesKept: 0,
  attributesDropped: 0,
  timeNs: 0n,
  name: '',
})
export const createLink = (): SpanLinkDraft => ({ ...createBag(), traceId: '', spanId: '', traceState: '', flags: 0 })
export const createSpan = (): SpanDraft => ({
  attributes: createBareObject(),
  attributesSeen: 0,
  attributesKept: 0,
  attributesDropped: 0,
  traceId: '',
  spanId: '',
  parentSpanId: null,
  traceState: '',
  flags: 0,
  name: '',
  kind: 'unspecified',
  startNs: 0n,
  endNs: 0n,
  statusCode: 'unset',
  statusMessage: '',
  spanEvents: [],
  eventsSeen: 0,
  eventsDropped: 0,
  links: [],
  linksSeen: 0,
  linksDropped: 0,
})

/**
 * What was cut of the record being read, and how many bytes of it may still be kept. `bytesLeft` limits only a record larger than a record may be;
 * for all others it is Infinity and costs nothing.
 */
export type Cutter = {
  readonly limits: DecodeLimits
  bytesLeft: number
  cuts: string[]
  /** Set if the attribute being read was cut. The mark is made later, because its name may come after its value. */
  depthCut: boolean
  bytesCut: boolean
}

export const createCutter = (limits: DecodeLimits): Cutter => ({
  limits,
  bytesLeft: Infinity,
  cuts: [],
  depthCut: false,
  bytesCut: false,
})

/** Begins a record of `bytes` as encoded; Infinity if that is not known. */
export function beginRecord(cutter: Cutter, bytes: number): void {
  cutter.bytesLeft = bytes > cutter.limits.recordBytesMax ? cutter.limits.recordBytesMax : Infinity
  if (cutter.cuts.length > 0) cutter.cuts = []
  cutter.depthCut = false
  cutter.bytesCut = false
}

const marksMax = 20
export function mark(cutter: Cutter, text: string): void {
  if (cutter.cuts.length < marksMax && !cutter.cuts.includes(text)) cutter.cuts.push(text)
}

/** Marks what was cut of `what`, if anything was. */
export function markCuts(cutter: Cutter, what: string): void {
  if (!cutter.depthCut && !cutter.bytesCut) return
  const name = cutText(what, 140)
  if (cutter.depthCut) mark(cutter, `${name} cut at depth ${cutter.limits.nestingDepthMax}`)
  if (cutter.bytesCut) mark(cutter, `${name} cut, the record is larger than ${cutter.limits.recordBytesMax} bytes`)
  cutter.depthCut = false
  cutter.bytesCut = false
}

/** Marks and returns how many were left out. */
function leftOut(cutter: Cutter, what: string, seen: number, kept: number): number {
  if (seen > kept) mark(cutter, `${what} cut at ${kept}, ${seen - kept} left out`)
  return seen - kept
}

/** Bytes that a list item counts for, besides its text. */
const itemBytes = 8

/** True if a list item still has room in the record. */
export function takeItem(cutter: Cutter): boolean {
  if (cutter.bytesLeft <= 0) cutter.bytesCut = true
  else cutter.bytesLeft -= itemBytes
  return !cutter.bytesCut
}

/** Counts an attribute; true if there is room for it. */
export function takeAttribute(cutter: Cutter, bag: BagDraft): boolean {
  bag.attributesSeen++
  if (bag.attributesKept >= cutter.limits.attributesPerRecordMax || cutter.bytesLeft <= 0) return false
  bag.attributesKept++
  return true
}

/** A time that indexes can store: uint64 nanoseconds beyond the year 2262 are cut to the largest int64. */
export function storableTime(cutter: Cutter, timeNs: bigint): bigint {
  if (timeNs <= int64Max) return timeNs
  mark(cutter, `time ${timeNs} cut to ${int64Max}`)
  return int64Max
}

const droppedOf = (cutter: Cutter, bag: BagDraft): number =>
  bag.attributesDropped + leftOut(cutter, 'attributes', bag.attributesSeen, bag.attributesKept)

/** Attributes that spans share, and what was cut of them. */
export type Shared = Readonly<{ shared: SharedAttributes; cuts: readonly string[] }>

export function finishShared(
  cutter: Cutter,
  kind: 'resource' | 'scope',
  draft: SharedDraft,
  schemaUrl: string,
): Shared {
  const { name, version, attributes } = draft
  const droppedAttributesCount = droppedOf(cutter, draft)
  const shared = shareAttributes({ kind, name, version, schemaUrl, attributes, droppedAttributesCount })
  return { shared, cuts: cutter.cuts.map((cut) => `${kind} ${cut}`) }
}

export function finishSpanEvent(cutter: Cutter, draft: SpanEventDraft): SpanEvent {
  const { timeNs, name, attributes } = draft
  return { timeNs, name, attributes, droppedAttributesCount: droppedOf(cutter, draft) }
}

export function finishLink(cutter: Cutter, draft: SpanLinkDraft): SpanLink {
  const { traceId, spanId, traceState, attributes, flags } = draft
  return { traceId, spanId, traceState, attributes, droppedAttributesCount: droppedOf(cutter, draft), flags }
}

/** The surroundings of a span: what it shares with others, and what was cut of that. */
export type Surroundings = Readonly<{ resource: SharedAttributes; scope: SharedAttributes; cuts: readonly string[] }>

const noCuts: readonly string[] = []

export function finishSpan(cutter: Cutter, draft: SpanDraft, { resource, scope, cuts }: Surroundings): Span {
  const { limits } = cutter
  const droppedAttributesCount = droppedOf(cutter, draft)
  const eventsLeftOut = leftOut(cutter, 'span events', draft.eventsSeen, draft.spanEvents.length)
  const linksLeftOut = leftOut(cutter, 'links', draft.linksSeen, draft.links.length)
  return {
    traceId: draft.traceId,
    spanId: draft.spanId,
    parentSpanId: draft.parentSpanId,
    traceState: draft.traceState,
    flags: draft.flags,
    name: draft.name,
    kind: draft.kind,
    startNs: draft.startNs,
    endNs: draft.endNs,
    status: { code: draft.statusCode, message: draft.statusMessage },
    attributes: draft.attributes,
    droppedAttributesCount,
    spanEvents: draft.spanEvents,
    droppedEventsCount: draft.eventsDropped + eventsLeftOut,
    links: draft.links,
    droppedLinksCount: draft.linksDropped + linksLeftOut,
    resource,
    scope,
    service: serviceOf(resource),
    sessionId: sessionIdOf(draft.attributes, resource, limits.sessionIdCharactersMax),
    cuts: cutter.cuts.length + cuts.length === 0 ? noCuts : [...cuts, ...cutter.cuts],
  }
}
