import type { WorkspaceId } from '#src/events/workspace-id.ts'
import type { IndexReader } from '../index-store.ts'
import { pageCharactersMax } from '../reading/page-size.ts'
import type { WalkKey } from '../traces/trace-request.ts'
import type { CorrelationId } from './anchor.ts'

/** Parts that can be left out, and parts that can be paged. */
type OmittablePart = 'traces' | 'logs'
export type PagedPart = 'spans' | 'traces' | 'logs' | 'rum_events'

export type CorrelationRequest = Readonly<{
  id: CorrelationId
  /** Parts that the workspace may not see. They are not looked for. */
  omit?: readonly OmittablePart[]
  /** The most items of each part; by default usualLimits. */
  limits?: Readonly<Partial<Record<PagedPart, number>>>
  /** Where each part continues: the `next` of an earlier answer to the same request. */
  after?: Readonly<Partial<Record<PagedPart, WalkKey>>>
  /** The time of the request, ms. If nobody folds the index then, what it lacks may still come. */
  nowMs?: number
}>

/** A page of one part. `truncated`: there is more, at `next`; if that is null, there is more than is looked up. */
export type Part<Item> = Readonly<{ items: readonly Item[]; next: WalkKey | null; truncated: boolean }>

/** The most items of each part, unless the request gives another number. */
export const usualLimits: Readonly<Record<PagedPart, number>> = { spans: 1_000, traces: 50, logs: 100, rum_events: 100 }
/**
 * The most characters of JSON of each part. Together they make one page (reading/page-size.ts), with the attribute sets of spans, which may take as
 * much as the spans.
 */
export const charactersOf: Readonly<Record<PagedPart, number>> = {
  spans: pageCharactersMax / 4,
  traces: pageCharactersMax / 16,
  logs: pageCharactersMax / 8,
  rum_events: pageCharactersMax / 8,
}

export type Read = Readonly<{ reader: IndexReader; workspaceId: WorkspaceId; request: CorrelationRequest }>

export const omits = ({ request }: Read, part: OmittablePart): boolean => request.omit?.includes(part) === true
