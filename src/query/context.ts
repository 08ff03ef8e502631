import type { Limits } from '#src/config.ts'
import type { FollowedView } from '#src/directory/directory.ts'
import type { PartitionOf } from '#src/events/partition.ts'
import type { QueryTree } from '#src/events/query-tree.ts'
import type { Refusal } from '#src/events/refusal.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import type { Clock } from '#src/lib/clock.ts'
import { ok, type Result } from '#src/lib/result.ts'
import { isCaughtUp, lagMs, type IndexReader, type Progress } from '#projections/index-store.ts'
import type { AnswerOf, indexState as indexStateSchema } from './answer-parts.ts'
import type { Binding, Cursors, Place } from './cursor.ts'
import { parseQuery, type ParsedQuery } from './language/parse-query.ts'
import { queryFingerprint } from './parameters.ts'
import { resolveRange, type Range } from './time-range.ts'

/** What every read route needs. */
export type QueryContext = Readonly<{
  readerOf: PartitionOf<IndexReader>
  directory: FollowedView
  cursors: Cursors
  clock: Clock
  limits: Limits
}>

/** An answered request: its JSON body. */
export type Answered<Body extends object = object> = Promise<Result<Body, Refusal>>

export type IndexState = AnswerOf<typeof indexStateSchema>

/**
 * How far the index has followed the log. An index that was never built is at 0 and not complete. `askedAt`: when the search began, ms, so that a
 * long search does not count its own time as silence of the projector.
 */
export function indexState(progress: Progress | undefined, askedAt: number): IndexState {
  if (progress === undefined) return { position: 0, head: 0, lag_ms: 0, complete: false }
  const { position, head } = progress
  return { position, head, lag_ms: Math.round(lagMs(progress, askedAt)), complete: isCaughtUp(progress, askedAt) }
}

/**
 * The parsed and checked search `q`; without it, a search for everything. `warningsOf`: further warnings about the tree, which depend on what is
 * searched.
 */
export function understand(
  q: string | undefined,
  limits: Limits,
  warningsOf: (tree: QueryTree) => readonly string[] = () => [],
): Result<ParsedQuery, Refusal> {
  const parsed = parseQuery(q ?? '', limits)
  if (!parsed.ok) return parsed
  const warnings = new Set([...parsed.value.warnings, ...warningsOf(parsed.value.tree)])
  return ok({ ...parsed.value, warnings: [...warnings].slice(0, limits.queryWarningsMax) })
}

/** The endpoint, the workspace, and the query string as typed. */
export type Where = Readonly<{ endpoint: string; workspaceId: WorkspaceId; search: string }>

export type Walk = Readonly<{ binding: Binding; place: Place | undefined; range: Range }>

type Given = Readonly<{ from?: string | undefined; to?: string | undefined; cursor?: string | undefined }>

/** What the cursors of a request are bound to. */
export const bindingOf = ({ endpoint, workspaceId, search }: Where): Binding => ({
  workspaceId,
  endpoint,
  fingerprint: queryFingerprint(search),
})

/** The place of a paged request. A cursor carries the range that its first page resolved. */
export function resolveWalk(
  context: QueryContext,
  { byId, ...where }: Where & Readonly<{ byId: boolean }>,
  given: Given,
): Result<Walk, Refusal> {
  const binding = bindingOf(where)
  if (given.cursor !== undefined) {
    const place = context.cursors.read(binding, given.cursor)
    if (!place.ok) return place
    // Only the range is used further: the next cursor is made of it and of a new key.
    const { key: _key, ...range } = place.value
    return ok({ binding, place: place.value, range })
  }
  const range = resolveRange(given, byId, context.clock())
  return range.ok ? ok({ binding, place: undefined, range: range.value }) : range
}

/** A cursor to a place of the walk. */
export const cursorAt = ({ cursors }: QueryContext, { binding, range }: Walk, key: Place['key']): string =>
  cursors.write(binding, { key, ...range })

/** The object without its undefined properties. */
export function defined<T extends object>(object: T): { [Name in keyof T]: Exclude<T[Name], undefined> } {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as never
}
