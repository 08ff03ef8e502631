import type { CorrelationAnswer } from '#src/query/searches.ts'
import { inWords } from './context.ts'

/** What an answer says of the missing spans of a trace. */
type Lacking = Pick<NonNullable<CorrelationAnswer['trace']>, 'missing' | 'summary'>

/** As many as an answer lists. */
const missingMax = 1_000
/** Whether there may be more missing spans than are listed. */
export const isMissingCut = ({ missing, summary }: Lacking): boolean =>
  missing.length >= missingMax || missing.length < summary.missing_parent_count

/** Whether a trace is known to lack spans. */
export const isLacking = (summary: Pick<Lacking['summary'], 'missing_parent_count' | 'rejected_span_count'>): boolean =>
  summary.missing_parent_count + summary.rejected_span_count > 0

/** How many spans are known to be missing. `unlisted`: those rejected for their ids, of which one at most is listed, since no id tells them apart. */
export function missingOf({ missing, summary }: Lacking): Readonly<{ listed: number; unlisted: number }> {
  const rejected = missing.filter(({ reason }) => reason.startsWith('rejected')).length
  return { listed: missing.length, unlisted: Math.max(0, summary.rejected_span_count - rejected) }
}

/** The same in words. */
export function missingWords(lacking: Lacking): string {
  const { listed, unlisted } = missingOf(lacking)
  if (isMissingCut(lacking)) return `at least ${inWords(listed)} known to be missing`
  const others = unlisted > 0 ? `, ${inWords(unlisted)} more rejected without a valid id` : ''
  return `${inWords(listed)} known to be missing${others}`
}
