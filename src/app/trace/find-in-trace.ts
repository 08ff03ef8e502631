import type { Refusal } from '#src/events/refusal.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import { parseRfc3339Ns } from '#src/lib/time.ts'
import type { CorrelationAnswer, Searches } from '#src/query/searches.ts'
import { atFault, counted, inWords } from '../context.ts'
import { html, type Html } from '../html.ts'
import { searchHelp, spanForms } from '../search/search-help.ts'
import { whatIsWrong } from '../search/refused-search.ts'
import { traceAddress, type KeptOfTrace } from '../trace-address.ts'
import { spanIdOf, type TreeRow } from './span-tree.ts'

// Searches within one trace, which may have many pages. Matches are marked on each page, with links from one to the next.

/** What was typed, and the ids of the spans found: those before this page in page order, those here in line order, then those after it. */
export type FoundInTrace = Readonly<{
  typed: string
  ids: readonly string[]
  /** Index in `ids` of the first match on or after this page. */
  here: number
  /** Index in `ids` of the first match after this page. */
  after: number
  isCut: boolean
  /** What of the search was not taken as it was typed. */
  warnings: readonly string[]
  refused: Refusal | undefined
}>

const nothingSought: FoundInTrace = {
  typed: '',
  ids: [],
  here: 0,
  after: 0,
  isCut: false,
  warnings: [],
  refused: undefined,
}

type Sought = Readonly<{ trace: CorrelationAnswer['trace']; rows: readonly TreeRow[]; typed: string }>

export async function findInTrace(
  searches: Pick<Searches, 'spansFound'>,
  workspaceId: WorkspaceId,
  { trace, rows, typed }: Sought,
): Promise<FoundInTrace> {
  if (typed === '' || trace == null) return nothingSought
  const result = await searches.spansFound(workspaceId, trace.summary.trace_id, typed)
  if (!result.ok) return { ...nothingSought, typed, refused: result.error }
  const { spans, isCut, warnings } = result.value
  const first = trace.spans[0]
  const firstNs = first === undefined ? undefined : parseRfc3339Ns(first.start)
  const onPage = new Set(rows.map(spanIdOf))
  const isBefore = ({ spanId, startNs }: (typeof spans)[number]): boolean =>
    first !== undefined &&
    firstNs !== undefined &&
    (startNs < firstNs || (startNs === firstNs && spanId < first.span_id))
  const found = new Set(spans.map(({ spanId }) => spanId))
  const others = spans.filter(({ spanId }) => !onPage.has(spanId))
  const idsOf = (some: typeof spans): readonly string[] => some.map(({ spanId }) => spanId)
  const before = idsOf(others.filter(isBefore))
  const here = rows.map(spanIdOf).filter((id) => found.has(id))
  const after = idsOf(others.filter((span) => !isBefore(span)))
  // A span of a continued trace may be stored twice.
  const ids = [...new Set([...before, ...here, ...after])]
  return {
    typed,
    ids,
    here: new Set(before).size,
    after: new Set([...before, ...here]).size,
    isCut,
    warnings,
    refused: undefined,
  }
}

/** The trace, and how its page is shown. */
type Place = Readonly<{ traceId: string; kept: Omit<KeptOfTrace, 'find'> }>

/** The address of a match, on a page where all matches are marked. */
const addressOf = ({ traceId, kept }: Place, spanId: string, typed: string): string =>
  traceAddress(traceId, spanId, { ...kept, find: typed })

/** Where a search that was just typed leads: to the first match. */
export const firstFound = ({ ids: [first], typed }: FoundInTrace, place: Place): string | undefined =>
  first === undefined ? undefined : addressOf(place, first, typed)

function linksOf({ ids, here, typed }: FoundInTrace, place: Place, asked: string | undefined): Html {
  const at = asked === undefined ? -1 : ids.indexOf(asked)
  const linkTo = (id: string | undefined, kind: 'previous' | 'next', words: string): Html =>
    id === undefined
      ? html``
      : html`<a href="${addressOf(place, id, typed)}" data-match="${kind}" aria-keyshortcuts="${kind.slice(0, 1)}"
          >${words}</a
        > `
  return html`${linkTo(at < 0 ? ids[here - 1] : ids[at - 1], 'previous', 'Previous match')}
  ${linkTo(at < 0 ? ids[here] : ids[at + 1], 'next', 'Next match')}`
}

const allOf = ({ ids, isCut }: Pick<FoundInTrace, 'ids' | 'isCut'>): string =>
  isCut ? `the first ${inWords(ids.length)}` : inWords(ids.length)

/** Data for scripts/matches.js about the matches of this page: their number, and the matches around the page. */
function aroundOf(found: FoundInTrace, place: Place): Html {
  const { ids, here, after, typed } = found
  if (here === after) return html``
  const [previous, next] = [ids[here - 1], ids[after]]
  return html`data-matches data-count="${countOf(found, undefined)}" data-of="${allOf(found)}" data-before="${here}"
  ${previous === undefined ? html`` : html`data-previous="${addressOf(place, previous, typed)}"`}
  ${next === undefined ? html`` : html`data-next="${addressOf(place, next, typed)}"`}`
}

function countOf({ ids, isCut }: FoundInTrace, asked: string | undefined): string {
  if (ids.length === 0) return 'No span of this trace matches.'
  const at = asked === undefined ? -1 : ids.indexOf(asked)
  if (at >= 0) return `${inWords(at + 1)} of ${allOf({ ids, isCut })} matches.`
  if (isCut) return `More than ${counted(ids.length, 'span')} match: the first of them are marked.`
  return ids.length === 1 ? '1 span matches.' : `${counted(ids.length, 'span')} match.`
}

/** The search form with its result. `asked`: the span of this page that is open. */
export function findInTracePart(place: Place, found: FoundInTrace, asked: string | undefined): Html {
  const { typed, warnings, refused } = found
  const { traceId, kept } = place
  const result = html`<p class="row" ${aroundOf(found, place)} role="status">
      ${countOf(found, asked)} ${linksOf(found, place, asked)}
      <a href="${traceAddress(traceId, null, { ...kept, find: '' })}">Clear</a>
    </p>
    ${warnings.map((warning) => html`<p class="notice">${warning}</p>`)}`
  return html`<form class="row" method="get" action="${traceAddress(traceId)}" role="search">
      <label
        >Find spans in this trace
        <input
          name="find"
          type="search"
          size="40"
          value="${typed}"
          placeholder="SELECT status=error http.route=/orders"
          autocomplete="off"
          ${atFault(refused !== undefined)}
      /></label>
      ${kept.isFolded === true ? html`<input type="hidden" name="folded" value="1" />` : html``}
      ${kept.zoom === undefined ? html`` : html`<input type="hidden" name="zoom" value="${kept.zoom}" />`}
      <button type="submit">Find</button>
    </form>
    ${searchHelp(spanForms)} ${typed === '' ? html`` : refused === undefined ? result : whatIsWrong(refused, typed)}`
}
