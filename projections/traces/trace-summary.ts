import type { Position } from '#src/events/envelope.ts'
import { mapInTurns } from '#src/lib/in-turns.ts'
import { memoize } from '#src/lib/memoize.ts'
import { timeOfSortable } from './sortable-time.ts'
import { togetherIn } from './spans-of-parts.ts'
import { joinReplaced, noSpanId, ownId, rowsOf, type PartRow, type Replaced, type TracePart } from './trace-part.ts'

const servicesMax = 200
export const sessionsMax = 100

type RootSpan = Readonly<{ spanId: string; service: string; operation: string; startNs: string }>
type ServiceCount = Readonly<{ name: string; spanCount: number; errorCount: number }>

/** The sum of a trace's spans. Times are decimal text, nanoseconds; null if there is no span. */
export type SpansSummary = Readonly<{
  spanCount: number
  repeatedCount: number
  errorCount: number
  startNs: string | null
  endNs: string | null
  /** Start of the newest span. */
  lastStartNs: string | null
  /** The biggest 200, most spans first. */
  services: readonly ServiceCount[]
  /** The observed span without a parent; of several, the earliest. Never made up. */
  root: RootSpan | null
  missingParentCount: number
  rejectedSpanCount: number
  /** At most 100, in order of arrival. */
  sessions: readonly string[]
  partCount: number
  /** The position of the last event that may have moved the start. */
  startMovedAt: Position
  /** Absent in builds before version 7. */
  replaced?: Replaced | null
}>

export const emptySummary: SpansSummary = {
  spanCount: 0,
  repeatedCount: 0,
  errorCount: 0,
  startNs: null,
  endNs: null,
  lastStartNs: null,
  services: [],
  root: null,
  missingParentCount: 0,
  rejectedSpanCount: 0,
  sessions: [],
  partCount: 0,
  startMovedAt: 0,
  replaced: null,
}

type Root = Omit<RootSpan, 'startNs'> & Readonly<{ start: string }>
type Counts = Readonly<{ spanCount: number; errorCount: number }>

/** A sum in progress. Times are sortable. */
type Sum = {
  spanCount: number
  repeatedCount: number
  errorCount: number
  start: string
  end: string
  lastStart: string
  readonly services: Map<string, Counts>
  readonly sessions: Set<string>
  root: Root | null
}

const emptySum = (): Sum => ({
  spanCount: 0,
  repeatedCount: 0,
  errorCount: 0,
  start: 'g',
  end: '',
  lastStart: '',
  services: new Map(),
  sessions: new Set(),
  root: null,
})

const earlier = (a: Root | null, b: Root | null): Root | null => {
  if (a === null || b === null) return a ?? b
  if (a.start !== b.start) return a.start < b.start ? a : b
  return a.spanId <= b.spanId ? a : b
}

function count(services: Map<string, Counts>, name: string, spanCount: number, errorCount: number): void {
  const of = services.get(name) ?? { spanCount: 0, errorCount: 0 }
  services.set(name, { spanCount: of.spanCount + spanCount, errorCount: of.errorCount + errorCount })
}

function sumOfRows(rows: Iterable<PartRow>): Sum {
  const sum = emptySum()
  for (const { spanId, parentSpanId, start, end, service, sessionId, error, name, repeats } of rows) {
    const errors = error ? 1 : 0
    sum.spanCount++
    sum.repeatedCount += repeats
    sum.errorCount += errors
    if (start < sum.start) sum.start = start
    if (start > sum.lastStart) sum.lastStart = start
    if (end > sum.end) sum.end = end
    count(sum.services, service, 1, errors)
    if (sessionId !== null) sum.sessions.add(sessionId)
    if (parentSpanId === null) sum.root = earlier(sum.root, { spanId, service, operation: name ?? '', start })
  }
  return sum
}

/** Adds a part's sum. Call it in order of arrival, because the first sessions are kept. */
function addTo(sum: Sum, part: Readonly<Sum>): void {
  sum.spanCount += part.spanCount
  sum.repeatedCount += part.repeatedCount
  sum.errorCount += part.errorCount
  if (part.start < sum.start) sum.start = part.start
  if (part.end > sum.end) sum.end = part.end
  if (part.lastStart > sum.lastStart) sum.lastStart = part.lastStart
  for (const [name, { spanCount, errorCount }] of part.services) count(sum.services, name, spanCount, errorCount)
  for (const session of part.sessions) if (sum.sessions.size < sessionsMax) sum.sessions.add(session)
  sum.root = earlier(sum.root, part.root)
}

/** Must not be changed: it is used again for the next event if that leaves the part as it is. */
const sumOfPart = memoize((part: TracePart): Readonly<Sum> => sumOfRows(rowsOf(part)))

function sumOfParts(parts: readonly TracePart[]): Readonly<Sum> {
  const [first] = parts
  if (parts.length === 1 && first !== undefined) return sumOfPart(first)
  const sum = emptySum()
  for (const part of parts) addTo(sum, sumOfPart(part))
  return sum
}

/** What a part says besides its spans. */
type Told = Pick<TracePart, 'refused' | 'refusedNotKept' | 'startMovedAt' | 'replaced'>

function summaryOf(
  sum: Readonly<Sum>,
  missingParentCount: number,
  parts: readonly Told[],
  has: (spanId: string) => boolean,
): SpansSummary {
  const { spanCount, repeatedCount, errorCount, root } = sum
  const services = [...sum.services].map(([name, counts]) => ({ name, ...counts }))
  services.sort((a, b) => b.spanCount - a.spanCount || (a.name < b.name ? -1 : 1))
  const decimal = (time: string): string | null => (spanCount === 0 ? null : timeOfSortable(time).toString())
  return {
    spanCount,
    repeatedCount,
    errorCount,
    startNs: decimal(sum.start),
    endNs: decimal(sum.end),
    lastStartNs: decimal(sum.lastStart),
    services: services.slice(0, servicesMax),
    root: root && {
      spanId: root.spanId,
      service: root.service,
      operation: root.operation,
      startNs: timeOfSortable(root.start).toString(),
    },
    missingParentCount,
    rejectedSpanCount: rejectedCount(parts, has),
    sessions: [...sum.sessions].slice(0, sessionsMax),
    partCount: parts.length,
    startMovedAt: Math.max(0, ...parts.map((part) => part.startMovedAt)),
    replaced: parts.reduce<Replaced | null>((joined, part) => joinReplaced(joined, part.replaced), null),
  }
}

/**
 * Counts the refused spans that are not stored: one that was stored later is no longer missing. Several documents of a trace may hold the same
 * refusal.
 */
function rejectedCount(parts: readonly Told[], has: (spanId: string) => boolean): number {
  const refused = new Set(parts.flatMap((part) => part.refused.map(([spanId]) => spanId)))
  const notKept = parts.reduce((sum, { refusedNotKept }) => sum + refusedNotKept, 0)
  refused.delete(noSpanId)
  return notKept + [...refused].filter((spanId) => !has(spanId)).length
}

/** The last event by which a part may have moved the start of its trace: 0 if all of its spans begin later than that. */
const startMovedBy = (part: TracePart, start: string): Position =>
  part.replaced === null && sumOfPart(part).start > start ? 0 : part.startMovedAt

/** Sums up the parts of one trace document, which hold each span once. The result depends on the parts alone. */
export function summarize(parts: readonly TracePart[]): SpansSummary {
  const sum = sumOfParts(parts)
  const { partOf, missing } = togetherIn(parts)
  const told = parts.map((part): Told => ({ ...part, startMovedAt: startMovedBy(part, sum.start) }))
  return summaryOf(sum, missing, told, (spanId) => partOf(spanId) !== undefined)
}

/**
 * Like `summarize`, for the parts of several documents of one trace, which may repeat each other's spans. Parts come page by page, the newest first,
 * because the newest has the last version of a repeated span. Of earlier pages only the ids are kept in memory: a sender may use one trace id for
 * everything.
 */
export async function summarizeAcross(pages: AsyncIterable<readonly TracePart[]>): Promise<SpansSummary> {
  const sum = emptySum()
  const held = new Set<string>()
  const missing = new Set<string>()
  const told: Told[] = []
  let sessions: readonly string[] = []

  const add = (part: TracePart): void => {
    const newest: PartRow[] = []
    for (const row of rowsOf(part)) {
      if (held.has(row.spanId)) sum.repeatedCount += row.repeats + 1
      else newest.push(row)
    }
    for (const { spanId } of newest) {
      missing.delete(spanId)
      held.add(ownId(spanId))
    }
    for (const { parentSpanId } of newest) {
      if (parentSpanId !== null && !held.has(parentSpanId)) missing.add(ownId(parentSpanId))
    }
    const ofPart = sumOfRows(newest)
    addTo(sum, ofPart)
    // Sessions are in order of arrival, while the parts come newest first.
    sessions = [...new Set([...ofPart.sessions, ...sessions])].slice(0, sessionsMax)
    const { refused, refusedNotKept, startMovedAt, replaced } = part
    told.push({ refused, refusedNotKept, startMovedAt, replaced })
  }
  for await (const page of pages) await mapInTurns(page, add)
  return summaryOf({ ...sum, sessions: new Set(sessions) }, missing.size, told, (spanId) => held.has(spanId))
}
