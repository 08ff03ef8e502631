import { html, type Html } from '../html.ts'
import { traceForms } from './search-help.ts'
import { checkbox, choice, field } from '../fields.ts'
import { listed, type Asked } from './asked.ts'
import { rangeFields } from './ranges.ts'
import { nameSuggestions, searchForm, type FormOf, type FormShown } from './search-form.ts'

/** The list of traces. Other pages use the same search. */
export const tracesPath = '/app/traces'

const orders = [
  ['', 'newest first'],
  ['oldest', 'oldest first'],
  ['longest', 'longest first'],
  ['most_spans', 'most spans first'],
  ['errors', 'most errors first'],
] as const
const statuses = [
  ['', 'any'],
  ['error', 'error'],
  ['ok', 'ok'],
  ['unset', 'unset'],
] as const
/** Marks that a search can ask for, and the page's words for them. */
export const having = [
  ['error', 'errors'],
  ['logs', 'logs'],
  ['rum', 'browser events'],
  ['missing_spans', 'missing spans'],
] as const

const ofSpan = ['q', 'service', 'operation', 'status', 'min_duration', 'max_duration'] as const
const ownFields = [...ofSpan, 'from', 'to', 'order', 'has'] as const

function fieldsOf(asked: Asked, { facets, wrong }: FormShown): Html {
  const { conditions } = asked
  const given = (name: string): string => conditions.get(name) ?? ''
  const has = listed(conditions, 'has')
  return html`${field({ label: 'Service', name: 'service', value: given('service'), list: 'services', wrong })}${nameSuggestions(facets, 'service')}
    ${field({ label: 'Operation', name: 'operation', value: given('operation'), list: 'operations', wrong })}${nameSuggestions(facets, 'operation')}
    ${choice({ label: 'Status', name: 'status', value: given('status'), options: statuses })}
    ${field({ label: 'At least', name: 'min_duration', value: given('min_duration'), size: 8, placeholder: '200ms', wrong })}
    ${field({ label: 'At most', name: 'max_duration', value: given('max_duration'), size: 8, placeholder: '1.5s', wrong })}
    ${rangeFields(asked, wrong)}${choice({ label: 'Order', name: 'order', value: given('order'), options: orders })}
    <fieldset class="row">
      <legend>With</legend>
      ${having.map(([value, words]) => checkbox('has', value, words, has.includes(value)))}
    </fieldset>`
}

/** The form of a trace search, for the page at this path. */
export const createTraceForm =
  (path: string): FormOf =>
  (asked, shown) =>
    searchForm({
      path,
      asked,
      shown,
      label: 'Search attributes',
      placeholder: 'http.route=/orders http.response.status_code>=500',
      help: traceForms,
      fields: fieldsOf(asked, shown),
      own: ownFields,
    })
