import type { WorkspaceId } from '#src/events/workspace-id.ts'
import type { IndexReader } from '../index-store.ts'
import { pageCharactersMax } from '../page-size.ts'
import type { WalkKey } from '../traces/trace-request.ts'
import type { CorrelationId } from './anchor.ts'

/** Parts that can be left out, and parts that can be paged. */
type OmittablePart = 'traces' | 'logs'
export type PagedPart = 'spans' | 'traces' | 'logs' | 'rum_events'

export type CorrelationRequest = Readonly<{
  id: CorrelationId
  /** Parts that the workspace may not see. They are left out, not looked for. */
  omit?: readonly OmittablePart[]
  /** Items of each part; those left out have usualLimits. */
  limits?: Readonly<Partial<Record<PagedPart, number>>>
  /** Where each part goes on: the `next` of an earlier answer to the same request. */
  after?: Readonly<Partial<Record<PagedPart, WalkKey>>>
  /** The time of the request: what an index that nobody folds then does not hold may still come. */
  nowMs?: number
}>

/** A page of one part. `truncated` says that there is more: at `next`, or (it is null) more than is looked up. */
export type Part<Item> = Readonly<{ items: readonly Item[]; next: WalkKey | null; truncated: boolean }>

/** Items of each part of an answer whose request names no other number. */
export const usualLimits: Readonly<Record<PagedPart, number>> = { spans: 1_000, traces: 50, logs: 100, rum_events: 100 }
/**
 * Characters of JSON of each part. All together, with what spans share, which counts as much as they do, are one page (page-size.ts): an
 * answer counts as a query that has one.
 */
export const charactersOf: Readonly<Record<PagedPart, number>> = {
  spans: pageCharactersMax / 4,
  traces: pageCharactersMax / 16,
  logs: pageCharactersMax / 8,
  rum_events: pageCharactersMax / 8,
}

export type Read = Readonly<{ reader: IndexReader; workspaceId: WorkspaceId; request: CorrelationRequest }>

export const omits = ({ request }: Read, part: OmittablePart): boolean => request.omit?.includes(part) === true
