import { TooBroadError } from '#projections/index-store.ts'
import type { Feature } from '#src/directory/directory.ts'
import { checkEntitlementNow } from '#src/directory/entitlement.ts'
import { refusal, type Refusal } from '#src/events/refusal.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import { fail, type Result } from '#src/lib/result.ts'
import type { Answered, QueryContext } from './context.ts'
import type { CorrelationAnswer } from './correlation-answer.ts'
import {
  answerCorrelation,
  answerNearestError,
  answerSpanCursors,
  answerSpansFound,
  type SpanOfTrace,
  type SpansFound,
} from './correlation.ts'
import { answerTraceListing } from './listing.ts'
import { answerLogSearch, type LogSearchAnswer } from './logs.ts'
import { answerSessionSearch, type SessionSearchAnswer } from './sessions.ts'
import type { TraceListingAnswer, TraceSearchAnswer } from './trace-answer.ts'
import { answerTraceSearch } from './traces.ts'

export { inOwnForms, quotedText, regexOf } from './language/other-forms.ts'
export { printQuery } from './language/print-query.ts'
export type { CorrelationAnswer, LogSearchAnswer, SessionSearchAnswer, TraceSearchAnswer }

/** A search: takes the workspace, and the query string that the endpoint documents. */
type Search<Body extends object> = (workspaceId: WorkspaceId, search: string) => Answered<Body>

/** The searches that the API answers and the pages show, checked against the plan. */
export type Searches = Readonly<{
  traces: Search<TraceSearchAnswer>
  correlation: Search<CorrelationAnswer>
  /** Cursors for a `correlation` of the same `search`. The first whose answer shows the span leads to its page. */
  spanCursors(workspaceId: WorkspaceId, search: string, span: SpanOfTrace): Promise<Result<readonly string[], Refusal>>
  /** The nearest span with an error after (`asc`) or before (`desc`) a span of a trace. */
  nearestError(
    workspaceId: WorkspaceId,
    traceId: string,
    of: Readonly<{ spanId: string; direction: 'asc' | 'desc' }>,
  ): Promise<Result<string | undefined, Refusal>>
  /** The spans of a trace that `q` finds, in the order of its pages. */
  spansFound(workspaceId: WorkspaceId, traceId: string, q: string): Promise<Result<SpansFound, Refusal>>
  logs: Search<LogSearchAnswer>
  /** Browser sessions, without what the plan lacks. */
  sessions: Search<SessionSearchAnswer>
  /** The public listing. Its entitlements are checked with its key. */
  listing: Search<TraceListingAnswer>
}>

/** Turns TooBroadError into a refusal. Throws any other error again. */
export function tooBroad(error: unknown): Refusal {
  if (error instanceof TooBroadError) return refusal('query_too_broad', error.message)
  throw error
}

export function createSearches(context: QueryContext): Searches {
  const { directory } = context

  const search =
    <Body, More extends readonly unknown[]>(
      features: readonly Feature[],
      answer: (
        context: QueryContext,
        workspaceId: WorkspaceId,
        asked: string,
        ...more: More
      ) => Promise<Result<Body, Refusal>>,
    ) =>
    async (workspaceId: WorkspaceId, asked: string, ...more: More): Promise<Result<Body, Refusal>> => {
      const refused = await checkEntitlementNow(directory, workspaceId, features)
      if (refused !== undefined) return fail(refused)
      try {
        return await answer(context, workspaceId, asked, ...more)
      } catch (error) {
        return fail(tooBroad(error))
      }
    }

  return {
    traces: search(['tracing'], answerTraceSearch),
    correlation: search([], answerCorrelation),
    spanCursors: search(['tracing'], answerSpanCursors),
    nearestError: search(['tracing'], answerNearestError),
    spansFound: search(['tracing'], answerSpansFound),
    logs: search(['logs'], answerLogSearch),
    sessions: search([], answerSessionSearch),
    listing: search([], answerTraceListing),
  }
}
