import { parseSpanId, parseTraceId } from '#src/events/ids.ts'
import { spanKinds, type Span, type SpanEvent, type SpanLink } from '#src/events/telemetry.ts'
import { emptyDeepValues } from '#src/lib/empty-deep-values.ts'
import { numberCharactersMax } from '#src/lib/json-bytes.ts'
import { type Json, type JsonObject, parseJson } from '#src/lib/json.ts'
import { countOf, enumOf, listOf, namedTextOf, objectOf, readAttributes, timeOf } from './json-values.ts'
import { scanJson } from './scan-json.ts'
import {
  beginRecord,
  createCutter,
  createLink,
  createShared,
  createSpan,
  createSpanEvent,
  finishLink,
  finishShared,
  finishSpan,
  finishSpanEvent,
  mark,
  statusCodes,
  type Cutter,
  type DecodeLimits,
  type Shared,
  type SpanDraft,
  type Surroundings,
} from './span-parts.ts'

/** Levels of JSON from the request to the attributes of a span event or link, with a reserve; then levels per nested value. */
const levelsAround = 16
const levelsPerValue = 4

const traceIdOf = (value: Json | undefined): string => (typeof value === 'string' ? (parseTraceId(value) ?? '') : '')
const spanIdOf = (value: Json | undefined): string => (typeof value === 'string' ? (parseSpanId(value) ?? '') : '')

function readSpanEvent(cutter: Cutter, event: JsonObject): SpanEvent {
  const draft = createSpanEvent()
  draft.timeNs = timeOf(cutter, event['timeUnixNano'])
  draft.name = namedTextOf(cutter, event['name'], 'span event name')
  readAttributes(cutter, event['attributes'], draft)
  draft.attributesDropped = countOf(event['droppedAttributesCount'])
  return finishSpanEvent(cutter, draft)
}

function readLink(cutter: Cutter, link: JsonObject): SpanLink {
  const draft = createLink()
  draft.traceId = traceIdOf(link['traceId'])
  draft.spanId = spanIdOf(link['spanId'])
  draft.traceState = namedTextOf(cutter, link['traceState'], 'link trace state')
  draft.flags = countOf(link['flags'])
  readAttributes(cutter, link['attributes'], draft)
  draft.attributesDropped = countOf(link['droppedAttributesCount'])
  return finishLink(cutter, draft)
}

function readParent(cutter: Cutter, value: Json | undefined): string | null {
  const id = spanIdOf(value)
  if (id !== '') return id
  if (value !== undefined && value !== null && !(typeof value === 'string' && /^0{0,16}$/.test(value))) {
    mark(cutter, 'parent span id left out, it is not 8 bytes')
  }
  return null
}

function readEventsAndLinks(cutter: Cutter, span: JsonObject, draft: SpanDraft): void {
  const { spanEventsPerSpanMax, linksPerSpanMax } = cutter.limits
  const events = listOf(span['events'])
  const links = listOf(span['links'])
  draft.eventsSeen = events.length
  draft.spanEvents = events.slice(0, spanEventsPerSpanMax).map((event) => readSpanEvent(cutter, objectOf(event)))
  draft.eventsDropped = countOf(span['droppedEventsCount'])
  draft.linksSeen = links.length
  draft.links = links.slice(0, linksPerSpanMax).map((link) => readLink(cutter, objectOf(link)))
  draft.linksDropped = countOf(span['droppedLinksCount'])
}

function readSpan(cutter: Cutter, span: JsonObject, surroundings: Surroundings): Span | undefined {
  const draft = createSpan()
  draft.traceId = traceIdOf(span['traceId'])
  draft.spanId = spanIdOf(span['spanId'])
  // Ids were checked, and spans without them cut, before the event was written.
  if (draft.traceId === '' || draft.spanId === '') return undefined
  const status = objectOf(span['status'])
  draft.parentSpanId = readParent(cutter, span['parentSpanId'])
  draft.traceState = namedTextOf(cutter, span['traceState'], 'trace state')
  draft.flags = countOf(span['flags'])
  draft.name = namedTextOf(cutter, span['name'], 'name')
  draft.kind = enumOf(spanKinds, 'SPAN_KIND_', span['kind'])
  draft.startNs = timeOf(cutter, span['startTimeUnixNano'])
  draft.endNs = timeOf(cutter, span['endTimeUnixNano'])
  draft.statusCode = enumOf(statusCodes, 'STATUS_CODE_', status['code'])
  draft.statusMessage = namedTextOf(cutter, status['message'], 'status message')
  readAttributes(cutter, span['attributes'], draft)
  draft.attributesDropped = countOf(span['droppedAttributesCount'])
  readEventsAndLinks(cutter, span, draft)
  return finishSpan(cutter, draft, surroundings)
}

function readShared(cutter: Cutter, kind: 'resource' | 'scope', of: JsonObject, schema: Json | undefined): Shared {
  beginRecord(cutter, Infinity)
  const draft = createShared()
  if (kind === 'scope') {
    draft.name = namedTextOf(cutter, of['name'], 'name')
    draft.version = namedTextOf(cutter, of['version'], 'version')
  }
  readAttributes(cutter, of['attributes'], draft)
  draft.attributesDropped = countOf(of['droppedAttributesCount'])
  return finishShared(cutter, kind, draft, namedTextOf(cutter, schema, 'schema URL'))
}

/** The spans of a parsed request. A value of an unexpected shape counts as absent. */
function spansOfJson(request: Json, limits: DecodeLimits): readonly Span[] {
  const cutter = createCutter(limits)
  const spans: Span[] = []
  for (const resourceSpans of listOf(objectOf(request)['resourceSpans']).map(objectOf)) {
    const { resource: resourceValue, schemaUrl } = resourceSpans
    const resource = readShared(cutter, 'resource', objectOf(resourceValue), schemaUrl)
    for (const scopeSpans of scopeGroups(resourceSpans)) {
      const given = objectOf(scopeSpans['scope'] ?? scopeSpans['instrumentationLibrary'])
      const scope = readShared(cutter, 'scope', given, scopeSpans['schemaUrl'])
      const surroundings = { resource: resource.shared, scope: scope.shared, cuts: [...resource.cuts, ...scope.cuts] }
      for (const span of listOf(scopeSpans['spans']).map(objectOf)) {
        beginRecord(cutter, Infinity)
        const read = readSpan(cutter, span, surroundings)
        if (read !== undefined) spans.push(read)
      }
    }
  }
  return spans
}

const groupNames = ['scopeSpans', 'instrumentationLibrarySpans']

/** The scope groups in their order in the body, under the new or the old name. */
function scopeGroups(resourceSpans: JsonObject): readonly JsonObject[] {
  return Object.keys(resourceSpans)
    .filter((name) => groupNames.includes(name))
    .flatMap((name) => listOf(resourceSpans[name]).map(objectOf))
}

const decoder = new TextDecoder()

/**
 * Parses the body. The parser of long integers recurses. For a body too deep for it, the deep values are emptied first: they are never looked at, so
 * the spans stay the same.
 */
function parseBody(bytes: Uint8Array, limits: DecodeLimits): Json {
  try {
    return parseText(decoder.decode(bytes))
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    return parseText(decoder.decode(emptyDeepValues(bytes, levelsAround + limits.nestingDepthMax * levelsPerValue)))
  }
}

const parseText = (text: string): Json => (text.trim() === '' ? null : parseJson(text, undefined, numberCharactersMax))

/** A larger body is decoded in parts: its text and the parsed values would take several times its size. */
const atOnceBytesMax = 4 * 1024 * 1024
/** Limits for finding the spans again: what is inside a span is only stepped over here, and parsed later. */
const scanned = { recordsPerBatchMax: Infinity, nodesPerRequestMax: Infinity, nestingDepthMax: 0, jsonDepthMax: 16 }

/** The request in parts, each with some of its spans, in order. It stays whole if it is small, or has too much beside its spans to be split. */
function* inParts(bytes: Uint8Array): Generator<Uint8Array> {
  const scan = bytes.length > atOnceBytesMax ? scanJson(bytes, scanned) : undefined
  if (!scan?.ok || scan.value.cut(() => false).length > atOnceBytesMax) {
    yield bytes
    return
  }
  const { spans, cut } = scan.value
  const partSpans = Math.ceil(spans / Math.ceil(bytes.length / atOnceBytesMax))
  for (let first = 0; first < spans; first += partSpans) {
    yield cut((index) => index >= first && index < first + partSpans)
  }
}

/** Decodes JSON bytes that the scanner accepted. Bytes that are not UTF-8 become U+FFFD. Source: OTLP specification, "JSON Protobuf Encoding". */
export const decodeJson = (bytes: Uint8Array, limits: DecodeLimits): readonly Span[] =>
  Array.from(inParts(bytes), (part) => spansOfJson(parseBody(part, limits), limits)).flat()
