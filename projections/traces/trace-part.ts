import type { Position } from '#src/events/envelope.ts'
import { assert } from '#src/lib/assert.ts'
import { beginningOf } from '#src/lib/beginning.ts'
import type { RefusalReason, RefusedSpan, Span } from '#src/events/telemetry.ts'
import { memoize } from '#src/lib/memoize.ts'
import type { Collection } from '../projection.ts'
import { sortableTime } from './sortable-time.ts'

/** Spans in one part. If you change it, raise the projection's version. */
export const partSpansMax = 1_000
/** How many refused spans of a trace are kept, in its first part; more are only counted. */
export const refusedKeptMax = 10_000
/** How many former starts of a span are kept: for each, its record is written again with the span. Beyond that, a repeat is only counted. */
export const formerStartsMax = 32
const nameCharactersMax = 512

/**
 * Up to 1,000 spans of a trace, in order of arrival, in the form needed to sum the trace up: 71 characters a span, because all parts of a big
 * trace are loaded with each batch. A row is: id (16), parent (16, `-` if none), start and end (16 each, sortable), indexes of service and
 * session (3 hex digits each, `---`: none), `1` for an error.
 */
export type TracePart = Readonly<{
  traceId: string
  number: number
  rows: string
  services: readonly string[]
  sessions: readonly string[]
  /** Names of the spans without a parent, by row. */
  roots: readonly (readonly [row: number, name: string])[]
  /** How often the span of a row was repeated. */
  repeats: readonly (readonly [row: number, count: number])[]
  /** The earlier starts (sortable) of the span of a row, if it was repeated with another start. */
  formerStarts: readonly (readonly [row: number, starts: readonly string[]])[]
  /** First part only: refused span ids with the reason of the last refusal, and how many have no valid id or are not kept here. */
  refused: readonly (readonly [spanId: string, reason: RefusalReason])[]
  refusedNotKept: number
  /** Position of the last event that moved the first start; 0 while there is none. */
  startMovedAt: Position
  replaced: Replaced | null
}>

/** What repeated spans were before. Null while no span was repeated. */
export type Replaced = Readonly<{
  /** The position of the last event that repeated a span. */
  position: Position
  /** Sortable: the first start, the last start, and the last end that they had. */
  start: string
  lastStart: string
  end: string
  /** How many spans with an error were repeated without one. */
  errorCount: number
}>

export function joinReplaced(a: Replaced | null, b: Replaced | null): Replaced | null {
  if (a === null || b === null) return a ?? b
  return {
    position: Math.max(a.position, b.position),
    start: a.start < b.start ? a.start : b.start,
    lastStart: a.lastStart > b.lastStart ? a.lastStart : b.lastStart,
    end: a.end > b.end ? a.end : b.end,
    errorCount: a.errorCount + b.errorCount,
  }
}

export type PartRow = Readonly<{
  spanId: string
  parentSpanId: string | null
  /** Sortable times. */
  start: string
  end: string
  service: string
  sessionId: string | null
  error: boolean
  /** Null unless the span has no parent. */
  name: string | null
  repeats: number
}>

/** All copies of one span in one event: the last one counts, the others are repeats. */
export type ArrivedSpan = Readonly<{ span: Span; copies: number }>

const rowLength = 71
const noParent = '-'.repeat(16)
const noIndex = '---'

export const emptyPart = (traceId: string, number: number): TracePart => ({
  traceId,
  number,
  rows: '',
  services: [],
  sessions: [],
  roots: [],
  repeats: [],
  formerStarts: [],
  refused: [],
  refusedNotKept: 0,
  startMovedAt: 0,
  replaced: null,
})

/** Copies the id: a slice would keep the 71,000 characters of its rows in memory. */
export const ownId = (id: string): string => Buffer.from(id, 'latin1').toString('latin1')

export const rowsIn = (rows: string): number => rows.length / rowLength
export const spanIdAt = (rows: string, row: number): string => rows.slice(row * rowLength, row * rowLength + 16)
export function parentAt(rows: string, row: number): string | null {
  const parent = rows.slice(row * rowLength + 16, row * rowLength + 32)
  return parent === noParent ? null : parent
}

export const spansIn = (part: TracePart): number => rowsIn(part.rows)
export const roomIn = (part: TracePart | undefined): number => partSpansMax - (part === undefined ? 0 : spansIn(part))

/** Row numbers by span id. */
export const rowIndex = memoize((part: TracePart): ReadonlyMap<string, number> => {
  const index = new Map<string, number>()
  for (let row = 0; row < spansIn(part); row++) {
    index.set(spanIdAt(part.rows, row), row)
  }
  return index
})

/** The spans of a part, in order of arrival. */
export function* rowsOf(part: TracePart): Generator<PartRow> {
  const names = new Map(part.roots)
  const repeats = new Map(part.repeats)
  for (let row = 0; row < spansIn(part); row++) {
    const text = part.rows.slice(row * rowLength, (row + 1) * rowLength)
    const session = text.slice(67, 70)
    yield {
      spanId: spanIdAt(part.rows, row),
      parentSpanId: parentAt(part.rows, row),
      start: text.slice(32, 48),
      end: text.slice(48, 64),
      service: part.services[Number.parseInt(text.slice(64, 67), 16)] ?? '',
      sessionId: session === noIndex ? null : (part.sessions[Number.parseInt(session, 16)] ?? null),
      error: text.endsWith('1'),
      name: names.get(row) ?? null,
      repeats: repeats.get(row) ?? 0,
    }
  }
}

const startOf = (rows: string, row: number): string => rows.slice(row * rowLength + 32, row * rowLength + 48)

/** The starts (sortable) of a row's span: its own, and its former ones, whose records are superseded. */
export const startsOf = (part: TracePart, row: number): Readonly<{ own: string; former: readonly string[] }> => ({
  own: startOf(part.rows, row),
  former: part.formerStarts.find(([of]) => of === row)?.[1] ?? [],
})

/** A table of texts that grows: each distinct text has an index. */
function createTable(texts: readonly string[]) {
  const indexes = new Map(texts.map((text, index) => [text, index]))
  return {
    indexOf(given: string | null): string {
      if (given === null) return noIndex
      const text = beginningOf(given, nameCharactersMax)
      const index = indexes.get(text) ?? indexes.size
      indexes.set(text, index)
      return index.toString(16).padStart(3, '0')
    },
    texts: (): readonly string[] => (indexes.size === texts.length ? texts : [...indexes.keys()]),
  }
}

/** The most texts of a table: indexes have three hex digits, and an event adds at most one text per span of a part. */
const textsMax = 16 ** 3 - partSpansMax

/** The part without texts that no row uses, if the tables are nearly full: repeated spans leave their former texts behind. */
function tidied(part: TracePart): TracePart {
  if (Math.max(part.services.length, part.sessions.length) <= textsMax) return part
  const [services, sessions] = [createTable([]), createTable([])]
  let rows = ''
  for (const { service, sessionId } of rowsOf(part)) {
    const row = part.rows.slice(rows.length, rows.length + rowLength)
    rows += row.slice(0, 64) + services.indexOf(service) + sessions.indexOf(sessionId) + row.slice(70)
  }
  return { ...part, rows, services: services.texts(), sessions: sessions.texts() }
}

/** The first start in rows, sortable; without a row, a text that sorts after all times. */
function firstStart(rows: string): string {
  let first = 'g'
  for (let row = 0; row * rowLength < rows.length; row++) {
    const start = startOf(rows, row)
    if (start < first) first = start
  }
  return first
}

const byRow = <T>(of: ReadonlyMap<number, T>): readonly (readonly [number, T])[] => [...of].sort(([a], [b]) => a - b)

/** The state while spans are folded into a part. */
function createDraft(given: TracePart, position: Position) {
  const part = tidied(given)
  const services = createTable(part.services)
  const sessions = createTable(part.sessions)
  const index = rowIndex(part)
  const roots = new Map(part.roots)
  const repeats = new Map(part.repeats)
  const formerStarts = new Map(part.formerStarts)
  let { rows, replaced } = part

  const rowText = (span: Span): string => {
    const names = services.indexOf(span.service) + sessions.indexOf(span.sessionId)
    const times = sortableTime(span.startNs) + sortableTime(span.endNs)
    const error = span.status.code === 'error' ? '1' : '0'
    // A parent id that is not a span id can never be found, so it may be cut or padded.
    const parent = (span.parentSpanId ?? noParent).slice(0, 16).padEnd(16, '?')
    return span.spanId + parent + times + names + error
  }
  function nameRoot(row: number, span: Span): void {
    if (span.parentSpanId === null) roots.set(row, beginningOf(span.name, nameCharactersMax))
    else roots.delete(row)
  }
  /** Replaces the span of a row. Returns false, and keeps the earlier version, if that would be one former start too many. */
  function replace(row: number, span: Span): boolean {
    const [was, is, former] = [startOf(rows, row), sortableTime(span.startNs), formerStarts.get(row) ?? []]
    if (was !== is && !former.includes(is) && former.length >= formerStartsMax) return false
    const [from, to] = [row * rowLength, (row + 1) * rowLength]
    const [before, text] = [rows.slice(from, to), rowText(span)]
    const errorCount = before.endsWith('1') && text.endsWith('0') ? 1 : 0
    replaced = joinReplaced(replaced, { position, start: was, lastStart: was, end: before.slice(48, 64), errorCount })
    if (text !== before) rows = rows.slice(0, from) + text + rows.slice(to)
    if (was !== is) formerStarts.set(row, [...new Set([...former, was])])
    return true
  }
  return {
    add({ span, copies }: ArrivedSpan): void {
      const known = index.get(span.spanId)
      const row = known ?? rows.length / rowLength
      const again = known === undefined ? copies - 1 : copies
      if (again > 0) repeats.set(row, (repeats.get(row) ?? 0) + again)
      if (known === undefined) {
        const text = rowText(span)
        assert(text.length === rowLength && row < partSpansMax, `span ${span.spanId} does not fit its part`)
        rows += text
      } else if (!replace(known, span)) return
      nameRoot(row, span)
    },
    part: (): TracePart => ({
      ...part,
      rows,
      services: services.texts(),
      sessions: sessions.texts(),
      roots: byRow(roots),
      repeats: byRow(repeats),
      formerStarts: byRow(formerStarts),
      startMovedAt: firstStart(rows) === firstStart(part.rows) ? part.startMovedAt : position,
      replaced,
    }),
  }
}

/** The part with these distinct spans of one event. The part must have room for those that it does not hold yet. */
export function addSpans(part: TracePart, arrived: readonly ArrivedSpan[], position: Position): TracePart {
  if (arrived.length === 0) return part
  const draft = createDraft(part, position)
  for (const one of arrived) draft.add(one)
  return draft.part()
}

/** The id in a refusal whose span has none. */
export const noSpanId = '0'.repeat(16)
const isSpanId = (text: string): boolean => /^[0-9a-f]{16}$/.test(text) && text !== noSpanId

/**
 * The first part of a trace with these refusals. Each span with an invalid id is counted; the id of zeros is kept once, so that its reason is shown.
 */
export function addRefusedSpans(part: TracePart, refused: readonly RefusedSpan[]): TracePart {
  if (refused.length === 0) return part
  const kept = new Map(part.refused)
  let { refusedNotKept } = part
  let changed = false
  for (const { spanId, reason } of refused) {
    if (isSpanId(spanId) && kept.get(spanId) === reason) continue
    changed = true
    const hasRoom = kept.has(spanId) || kept.size < refusedKeptMax
    if (spanId === noSpanId && hasRoom) kept.set(spanId, reason)
    if (isSpanId(spanId) && hasRoom) kept.set(spanId, reason)
    else refusedNotKept++
  }
  return changed ? { ...part, refused: [...kept], refusedNotKept } : part
}

export const traceIdOfPart = (id: string): string => id.split('/', 1)[0] ?? ''

/** Parts are found by their trace, and by the ids of refused spans. */
export const parts: Collection<TracePart> = {
  name: 'parts',
  kind: 'document',
  lookbackDays: 7,
  belongsTo: (id) => ({ collection: 'traces', id: traceIdOfPart(id) }),
  fields: { trace_id: 'id', refused_span_id: 'id' },
  searchable: ({ traceId, refused }) => ({
    timeNs: 0n,
    fields: { trace_id: traceId, refused_span_id: refused.map(([spanId]) => spanId) },
  }),
}
