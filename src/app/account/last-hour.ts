import type { Feature, Workspace } from '#src/directory/directory.ts'
import type { Refusal } from '#src/events/refusal.ts'
import { inTime } from '#src/lib/in-time.ts'
import type { Result } from '#src/lib/result.ts'
import type { LogSearchAnswer, TraceSearchAnswer } from '#src/query/searches.ts'
import { behindPart, facetValuesMax, figureTimeoutMs, inWords, type AppContext } from '../context.ts'
import { named, percentOf } from '../format.ts'
import { html, type Html } from '../html.ts'
import { planHas } from '../plan-has.ts'
import { serviceColours } from '../service-colours.ts'

/** First searches of somebody who was called because of a problem. */
const links = [
  ['logs', '/app/logs?level=error&level=fatal&from=-1h', 'Logs of errors'],
  ['tracing', '/app/traces?status=error&from=-1h', 'Traces with errors'],
  ['tracing', '/app/traces?order=longest&from=-1h', 'Longest traces'],
  ['tracing', '/app/traces?has=missing_spans&from=-1h', 'Traces with missing spans'],
  // Every plan has browser events.
  [undefined, '/app/sessions?has=error&from=-1h', 'Browser sessions with errors'],
] as const

type Column = Readonly<{
  head: string
  feature: Feature
  /** Conditions of the search whose matches are counted, and of the links to them. */
  conditions: string
  /** The column that these are a subset of. */
  partOf?: string
  /**
   * `beside`: counts what has an error anywhere in it; `own`: counts errors of the service itself. Services with the most `own` errors come first.
   */
  errors?: 'beside' | 'own'
}>

const columns: readonly Column[] = [
  { head: 'Traces', feature: 'tracing', conditions: 'from=-1h' },
  {
    head: 'Traces with errors',
    feature: 'tracing',
    conditions: 'has=error&from=-1h',
    partOf: 'Traces',
    errors: 'beside',
  },
  { head: 'Failed spans', feature: 'tracing', conditions: 'status=error&from=-1h', errors: 'own' },
  { head: 'Logs', feature: 'logs', conditions: 'from=-1h' },
  {
    head: 'Logs of errors',
    feature: 'logs',
    conditions: 'level=error&level=fatal&from=-1h',
    partOf: 'Logs',
    errors: 'own',
  },
]

type Found = Pick<TraceSearchAnswer, 'facets' | 'index'> | Pick<LogSearchAnswer, 'facets' | 'index'>

/** A column's count for each service. `isWhole`: a service that is missing has none. */
type Counts = Readonly<{ byService: ReadonlyMap<string, number>; isWhole: boolean }>

const rowsMax = 20
/** A longer name may have been cut when it was counted. */
const serviceCharactersMax = 256

export function countsOf(facets: Found['facets']): Counts | undefined {
  const values = facets?.find(({ field }) => field === 'service')?.values
  if (values === undefined) return undefined
  const ofServices = values.filter(({ value }) => value !== '').map(({ value, count }) => [value, count] as const)
  return { byService: new Map(ofServices), isWhole: values.length < facetValuesMax }
}

/** The services of these counts, ordered by most errors, then by the largest count. Each has one count per column, undefined if not known. */
export function serviceRows(
  counted: readonly (Counts | undefined)[],
  isOfErrors: readonly boolean[],
): readonly Readonly<{ service: string; counts: readonly (number | undefined)[] }>[] {
  const services = new Set(counted.flatMap((counts) => [...(counts?.byService.keys() ?? [])]))
  const rows = [...services].map((service) => ({
    service,
    counts: counted.map((counts) => counts?.byService.get(service) ?? (counts?.isWhole === true ? 0 : undefined)),
  }))
  const most = (counts: readonly (number | undefined)[]): number => Math.max(0, ...counts.map((count) => count ?? 0))
  const errors = (counts: readonly (number | undefined)[]): number => most(counts.filter((_, at) => isOfErrors[at]))
  return rows.toSorted(
    (a, b) =>
      errors(b.counts) - errors(a.counts) || most(b.counts) - most(a.counts) || (a.service < b.service ? -1 : 1),
  )
}

type Answer = Pick<Found, 'index'> & Readonly<{ counts: Counts | undefined }>

/** The counts of a search for a column; undefined if it does not answer in time, because the page can do without. */
async function count({ searches }: AppContext, { id }: Workspace, column: Column): Promise<Answer | undefined> {
  const asked = `${column.conditions}&limit=1&include=facets`
  const search = column.feature === 'tracing' ? searches.traces : searches.logs
  const result = await inTime<Result<Found, Refusal>>(search(id, asked), figureTimeoutMs)
  if (result?.ok !== true) return undefined
  const { facets, index } = result.value
  return { counts: countsOf(facets), index }
}

const pathOf = ({ feature }: Column): string => (feature === 'tracing' ? '/app/traces' : '/app/logs')

/** A figure as a link to what it counts, with its share of the column that it is part of. */
function cell(column: Column, service: string, count: number | undefined, whole: number | undefined): Html {
  const { head, errors, conditions } = column
  const words = (text: Html): Html => html`<td class="number" data-head="${head}">${text}</td>`
  if (count === 0) return words(html`0`)
  const share = (part: number): Html =>
    whole === undefined || whole === 0 ? html`` : html` <small>${percentOf(part, whole)}</small>`
  const shown = count === undefined ? html`–` : html`${inWords(count)}${share(count)}`
  if (service.length > serviceCharactersMax) return words(shown)
  const search = new URLSearchParams([['service', service], ...new URLSearchParams(conditions)])
  const address = `${pathOf(column)}?${search.toString()}`
  if (count === undefined) {
    return words(
      html`<a href="${address}" title="Not counted here" aria-label="${head}, not counted here">${shown}</a>`,
    )
  }
  const className = errors === undefined ? '' : 'bad'
  return words(html`<a class="${className}" href="${address}">${shown}</a>`)
}

/** A note if the table is incomplete. */
function lackOf(counted: readonly (Counts | undefined)[], rows: number): Html {
  if (counted.includes(undefined)) {
    return html`<p class="note">Not all is counted: the index has not answered in time.</p>`
  }
  const isPart = counted.some((counts) => counts?.isWhole === false)
  if (!isPart && rows <= rowsMax) return html``
  const dashes = isPart
    ? html` A column counts the ${facetValuesMax} services that have most of it: “–” stands for fewer, and leads to
      them.`
    : html``
  return html`<p class="note">
    There are other services: these are first by errors, and then by how much they sent.${dashes}
    <a href="/app/usage">Services of this month</a>
  </p>`
}

function tableOf(shown: readonly Column[], counted: readonly (Counts | undefined)[]): Html {
  const rows = serviceRows(
    counted,
    shown.map(({ errors }) => errors === 'own'),
  )
  const lack = lackOf(counted, rows.length)
  if (rows.length === 0) return lack
  const colourOf = serviceColours(rows.map(({ service }) => service))
  return html`<table class="figures cards">
      <thead>
        <tr>
          <th scope="col">Service</th>
          ${shown.map(({ head }) => html`<th scope="col" class="number">${head}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.slice(0, rowsMax).map(
          ({ service, counts }) =>
            html`<tr>
              <th scope="row"><span class="mark ${colourOf(service)}">${named(service)}</span></th>
              ${shown.map((column, place) => {
                const whole = counts[shown.findIndex(({ head }) => head === column.partOf)]
                return cell(column, service, counts[place], whole)
              })}
            </tr>`,
        )}
      </tbody>
    </table>
    ${lack}`
}

/** What each service sent in the last hour, with links. */
export async function servicesOfLastHour(app: AppContext, workspace: Workspace): Promise<Html> {
  const shown = columns.filter(({ feature }) => planHas(workspace, feature))
  const answers = await Promise.all(shown.map((column) => count(app, workspace, column)))
  const counted = answers.map((answer) => answer?.counts)
  const behind = answers.find((answer) => answer?.index.complete === false)
  return html`${behind === undefined ? html`` : behindPart(behind.index)}${tableOf(shown, counted)}`
}

export const lastHourLinks = (workspace: Workspace): Html =>
  html`<nav class="tabs" aria-label="The last hour">
    ${links
      .filter(([feature]) => planHas(workspace, feature))
      .map(([, address, words]) => html`<a href="${address}">${words}</a> `)}
  </nav>`
