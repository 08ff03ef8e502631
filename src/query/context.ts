import type { Limits } from '#src/config.ts'
import type { DirectoryView } from '#src/directory/directory.ts'
import type { QueryTree } from '#src/events/query-tree.ts'
import type { Refusal } from '#src/events/refusal.ts'
import { refusal } from '#src/events/refusal.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import type { Clock } from '#src/lib/clock.ts'
import type { Result } from '#src/lib/result.ts'
import { fail, ok } from '#src/lib/result.ts'
import { formatTimeNs } from '#src/lib/time.ts'
import type { IndexReader, Progress } from '#projections/index-store.ts'
import type { Binding, Cursors, Place } from './cursor.ts'
import { parseQuery } from './language/parse-query.ts'
import { queryFingerprint } from './parameters.ts'
import { parseTimeNs } from './time-range.ts'

/** What every read route works with. */
export type QueryContext = Readonly<{
  reader: IndexReader
  directory: DirectoryView
  cursors: Cursors
  clock: Clock
  limits: Limits
}>

/** An answered request: its JSON body. */
export type Answered = Promise<Result<object, Refusal>>

/** A heartbeat older than this means that nobody is folding: not complete. */
const heartbeatMaxMs = 5_000
const dayNs = 86_400_000_000_000n

export type IndexState = Readonly<{ position: number; head: number; lag_ms: number; complete: boolean }>

/** How far the index had followed the log. An index that was never built is at 0 and not complete. */
export function indexState(progress: Progress | undefined, nowMs: number): IndexState {
  if (progress === undefined) return { position: 0, head: 0, lag_ms: 0, complete: false }
  const { position, head, at } = progress
  const caughtUp = position >= head
  const fresh = nowMs - at <= heartbeatMaxMs
  const lagMs = caughtUp && fresh ? 0 : Math.max(0, Math.round(nowMs - progress.caughtUpAt))
  return { position, head, lag_ms: lagMs, complete: caughtUp && fresh }
}

export type Range = Readonly<{ fromNs?: bigint; toNs?: bigint }>
export type RangeAnswer = Readonly<{ from: string | null; to: string | null }>

export const rangeAnswer = ({ fromNs, toNs }: Range): RangeAnswer => ({
  from: fromNs === undefined ? null : formatTimeNs(fromNs),
  to: toNs === undefined ? null : formatTimeNs(toNs),
})

type Bounds = Readonly<{ from?: string | undefined; to?: string | undefined }>

/** Resolves `from` and `to`; without `from` the last 24 hours, unless an id is looked for, which covers all time. */
export function resolveRange(bounds: Bounds, byId: boolean, nowMs: number): Result<Range, Refusal> {
  const times: { fromNs?: bigint; toNs?: bigint } = {}
  for (const [name, field] of [
    ['from', 'fromNs'],
    ['to', 'toNs'],
  ] as const) {
    const text = bounds[name]
    if (text === undefined) continue
    const ns = parseTimeNs(text, nowMs)
    if (ns === undefined) {
      const message = 'not a time: give RFC 3339, Unix s, ms, µs or ns, or relative like 15m, -1h, now-2d'
      return fail(refusal('invalid_parameter', `${name}: ${message}`, { errors: [{ path: name, message }] }))
    }
    times[field] = ns
  }
  if (times.fromNs === undefined && !byId) times.fromNs = (times.toNs ?? BigInt(nowMs) * 1_000_000n) - dayNs
  if (times.fromNs !== undefined && times.toNs !== undefined && times.fromNs > times.toNs) {
    const message = 'from is after to'
    return fail(refusal('invalid_parameter', message, { errors: [{ path: 'from', message }] }))
  }
  return ok(times)
}

export type UnderstoodQuery = Readonly<{ tree: QueryTree; normalized: string; warnings: readonly string[] }>

/** The checked search of `q`; everything, when there is none. */
export function understand(q: string | undefined, limits: Limits): Result<UnderstoodQuery, Refusal> {
  if (q === undefined || q.trim() === '') return ok({ tree: { kind: 'all' }, normalized: '', warnings: [] })
  return parseQuery(q, limits)
}

export type Walk = Readonly<{ binding: Binding; place: Place | undefined; range: Range }>

type WalkRequest = Readonly<{ endpoint: string; workspaceId: WorkspaceId; search: string; byId: boolean }>

/** Where a paged request stands: a cursor carries the range that its first page resolved. */
export function resolveWalk(
  context: QueryContext,
  { endpoint, workspaceId, search, byId }: WalkRequest,
  given: Bounds & Readonly<{ cursor?: string | undefined }>,
): Result<Walk, Refusal> {
  const binding = { workspaceId, endpoint, fingerprint: queryFingerprint(search) }
  if (given.cursor !== undefined) {
    const place = context.cursors.read(binding, given.cursor)
    if (!place.ok) return place
    // The range alone: a next cursor is made of it and of a new key.
    const { key: _key, ...range } = place.value
    return ok({ binding, place: place.value, range })
  }
  const range = resolveRange(given, byId, context.clock())
  return range.ok ? ok({ binding, place: undefined, range: range.value }) : range
}

/** A trace id as answered: 32 lower-case hex; dashes fall away and 64-bit ids are padded. Undefined: not one. */
export function normalizeTraceId(text: string): string | undefined {
  const hex = text.replaceAll('-', '').toLowerCase()
  if (!/^(?:[0-9a-f]{16}|[0-9a-f]{32})$/.test(hex)) return undefined
  return hex.padStart(32, '0')
}

export function invalidParameter(path: string, message: string): Readonly<{ ok: false; error: Refusal }> {
  return fail(refusal('invalid_parameter', `${path}: ${message}`, { errors: [{ path, message }] }))
}
