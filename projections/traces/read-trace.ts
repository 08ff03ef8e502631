import type { RefusalReason, SharedAttributes } from '#src/events/telemetry.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import { mapInTurns } from '#src/lib/in-turns.ts'
import { stringifyJson } from '#src/lib/json.ts'
import { isCaughtUp, type Hit, type IndexReader, type Progress } from '../index-store.ts'
import { askInOrder } from '../reading/ask-in-order.ts'
import { all } from '../reading/filters.ts'
import { hasMore, pageCharactersMax } from '../reading/page-size.ts'
import { lookThroughParts, type PartPages, type PartsRead, type StoredSpan } from './look-through-parts.ts'
import { sortableTime } from './sortable-time.ts'
import { inTraces, partPages, readTraces, tracesScope } from './read-traces.ts'
import type { SpanDocument } from './span-document.ts'
import { createSpanSearch } from './span-search.ts'
import { spanAnswer, traceSummary, type SpanAnswer, type TraceSummary } from './trace-answer.ts'
import type { TraceDocument } from './trace-document.ts'
import { sortKeyOf, walkKeyOf, type WalkKey } from './trace-request.ts'

type MissingReason = 'not_received' | 'not_indexed_yet' | RefusalReason
/** A span that is known but not stored; `referenced_by`: up to 20 spans whose parent it is. */
type MissingSpan = Readonly<{ span_id: string; referenced_by: readonly string[]; reason: MissingReason }>

/** A trace with a page of its spans, by start. `spans_next` is null at the end. */
export type TraceRead = Readonly<{
  summary: TraceSummary
  spans: readonly SpanAnswer[]
  spans_next: WalkKey | null
  /** At most 1,000. */
  missing: readonly MissingSpan[]
  missing_truncated: boolean
  progress: Progress | undefined
}>

const missingMax = 1_000

/** Nanoseconds (5 min): if no span has started for this long, the trace has ended, and missing spans are not just late. */
const quietNs = 300_000_000_000n

/**
 * Whether more of a trace may still be indexed: the index lags a little under load, a rebuild restores days that were lost, and a mended program
 * folds events that an earlier one could not.
 */
function maySoonBeIndexed(
  { summary: { lastStartNs } }: TraceDocument,
  progress: Progress | undefined,
  nowMs: number | undefined,
): boolean {
  if (progress === undefined) return true
  const { lostDays = [], lacking = [] } = progress
  if (lostDays.length > 0 || lacking.length > 0) return true
  if (isCaughtUp(progress, nowMs ?? progress.at)) return false
  const hasUntilNs = BigInt(Math.trunc(progress.caughtUpAt)) * 1_000_000n
  return lastStartNs === null || BigInt(lastStartNs) > hasUntilNs - quietNs
}

/** The missing spans of a trace, with reasons. */
function missingSpans({ missing: unheld, refused }: PartsRead, maySoonBe: boolean): readonly MissingSpan[] {
  const notRefused: MissingReason = maySoonBe ? 'not_indexed_yet' : 'not_received'
  const missing = unheld.map(({ spanId, referencedBy }) => ({
    span_id: spanId,
    referenced_by: referencedBy,
    reason: refused.get(spanId) ?? notRefused,
  }))
  const known = new Set(missing.map(({ span_id: spanId }) => spanId))
  for (const [spanId, reason] of refused) {
    if (!known.has(spanId)) missing.push({ span_id: spanId, referenced_by: [], reason })
  }
  return missing
}

/** Whether a later document of a continued trace holds this span with another start. */
const isReplaced = ({ spanId, startNs }: SpanDocument, stored: ReadonlyMap<string, StoredSpan>): boolean =>
  (stored.get(spanId)?.start ?? sortableTime(BigInt(startNs))) !== sortableTime(BigInt(startNs))

/** Whether a span belongs to the shown documents of its trace. An older one belongs to an expired document, even if its own day is still shown. */
const isOfShown = ({ day }: Hit, { generation }: TraceDocument): boolean => day >= generation

const noParts: PartsRead = { stored: new Map(), missing: [], refused: new Map(), isCut: false }

/**
 * Reads what only the parts tell, not their sum. Skipped if no span is missing, rejected or repeated; a span in several documents counts as repeated.
 */
async function readDetails(
  pages: PartPages,
  { summary }: TraceDocument,
  spanIds: readonly string[],
): Promise<PartsRead> {
  const { repeatedCount, missingParentCount, rejectedSpanCount } = summary
  if (repeatedCount + missingParentCount + rejectedSpanCount === 0) return noParts
  return lookThroughParts(pages, { spanIds: new Set(spanIds), missingCount: missingParentCount })
}

/** How many attribute sets are read at once. Each may be a megabyte. */
const setsReadAtOnce = 16

type SpanHits = readonly Hit<SpanDocument>[]
type WithSets = Readonly<{ fitting: SpanHits; sets: ReadonlyMap<string, SharedAttributes> }>

const setsOf = ({ resource, scope }: SpanDocument): readonly string[] => [resource, scope]

/** The next unknown sets of these spans: all of the first span, and some of those after it. */
function nextSets(spans: SpanHits, known: ReadonlyMap<string, number>): readonly string[] {
  const next = new Set<string>()
  for (const { document } of spans) {
    for (const hash of setsOf(document)) if (!known.has(hash)) next.add(hash)
    if (next.size >= setsReadAtOnce) break
  }
  return [...next]
}

/**
 * Reads the attribute sets of spans. The answer repeats a set on each of its spans, so only as many spans are returned as come to at most
 * `charactersMax` with their sets, but at least one.
 */
async function readSets(
  reader: IndexReader,
  workspaceId: WorkspaceId,
  spans: SpanHits,
  charactersMax: number,
): Promise<WithSets> {
  const scope = tracesScope(workspaceId, 'attributeSets')
  const sets = new Map<string, SharedAttributes>()
  const lengths = new Map<string, number>()
  let characters = 0
  for (const [at, { document }] of spans.entries()) {
    if (!setsOf(document).every((hash) => lengths.has(hash))) {
      const hashes = nextSets(spans.slice(at), lengths)
      for (const hash of hashes) lengths.set(hash, 0)
      for (const { id, document: set } of await reader.get<SharedAttributes>(scope, hashes)) {
        sets.set(id, set)
        lengths.set(id, stringifyJson(set).length)
      }
    }
    characters += (lengths.get(document.resource) ?? 0) + (lengths.get(document.scope) ?? 0)
    if (characters > charactersMax && at > 0) return { fitting: spans.slice(0, at), sets }
  }
  return { fitting: spans, sets }
}

/**
 * A whole trace: its summary, a page of its spans by start, and what is missing. Undefined for a trace id that this workspace has never seen. A trace
 * that only a log, a browser event or a refusal has named exists without spans.
 * `charactersMax`: limit of the spans, and of their attribute sets; by default that of a page. `nowMs`: an index that nobody folds at this time
 * counts as behind; without `nowMs`, only if it says so itself.
 */
export async function readTrace(
  reader: IndexReader,
  workspaceId: WorkspaceId,
  traceId: string,
  page: Readonly<{ limit: number; after?: WalkKey | undefined; nowMs?: number | undefined; charactersMax?: number }>,
): Promise<TraceRead | undefined> {
  const search = createSpanSearch(reader, workspaceId, inTraces([traceId]), {})
  const { charactersMax = pageCharactersMax } = page
  const after = page.after && sortKeyOf(page.after)
  const [progress, { traces, continued }, hits] = await askInOrder(reader, [
    () => reader.progress('traces'),
    () => readTraces(reader, workspaceId, [traceId]),
    () => search.search(all, { limit: page.limit + 1, direction: 'asc', after, charactersMax }),
  ])
  const trace = traces.get(traceId)
  if (trace === undefined) return undefined
  const found = hits.slice(0, page.limit)
  // Parses documents one by one, with pauses: large ones would block the thread if parsed together.
  await mapInTurns(found, ({ document }) => document)
  const isContinued = continued.has(traceId)
  const pages: PartPages = () => partPages(reader, workspaceId, traceId)
  const spanIds = found.map(({ document }) => document.spanId)
  const [{ fitting: shown, sets }, details] = await Promise.all([
    readSets(reader, workspaceId, found, charactersMax),
    readDetails(pages, trace, spanIds),
  ])
  const last = shown.length < found.length || hasMore(hits, page.limit) ? shown.at(-1) : undefined
  const { stored } = details
  const spans = shown
    .filter((hit) => isOfShown(hit, trace))
    .map(({ document }) => document)
    .filter((span) => !isContinued || !isReplaced(span, stored))
  const missing = missingSpans(details, maySoonBeIndexed(trace, progress, page.nowMs))
  return {
    summary: traceSummary(trace),
    spans: await mapInTurns(spans, (span) => spanAnswer(span, sets, stored.get(span.spanId)?.repeats ?? 0)),
    spans_next: last === undefined ? null : walkKeyOf(last.sort, 0),
    missing: missing.slice(0, missingMax),
    missing_truncated: details.isCut || missing.length > missingMax,
    progress,
  }
}
