import { levels } from '#src/events/telemetry.ts'
import { html, type Html } from '../html.ts'
import { logForms } from './search-help.ts'
import { checkbox, field } from '../fields.ts'
import { listed, type Asked } from './asked.ts'
import { rangeFields } from './ranges.ts'
import { nameSuggestions, searchForm, type FormOf, type FormShown } from './search-form.ts'

/** Parameters beside `q` that narrow a log search. */
export const logFacets = [
  { title: 'Level', name: 'level', repeats: true, charactersMax: 5, canBeLeftOut: true },
  { title: 'Service', name: 'service', charactersMax: 256, canBeLeftOut: true },
] as const

const ownFields = ['q', 'service', 'from', 'to', 'order', 'level'] as const

function fieldsOf(asked: Asked, { facets, wrong }: FormShown, order: Html): Html {
  const { conditions } = asked
  const chosen = listed(conditions, 'level')
  return html`${field({ label: 'Service', name: 'service', value: conditions.get('service') ?? '', list: 'services', wrong })}${nameSuggestions(facets, 'service')}
    ${rangeFields(asked, wrong)} ${order}
    <fieldset class="row">
      <legend>Level</legend>
      ${levels.map((level) => checkbox('level', level, level, chosen.includes(level)))}
    </fieldset>`
}

/** `orderOf`: the form's fields for the order of the page. `more`: names of those that the search does not know. */
type Page = Readonly<{ path: string; orderOf: (conditions: URLSearchParams) => Html; more?: readonly string[] }>

/** The form of a log search, for the page at this path. */
export const createLogForm =
  ({ path, orderOf, more = [] }: Page): FormOf =>
  (asked, shown) =>
    searchForm({
      path,
      asked,
      shown,
      label: 'Search',
      placeholder: 'timeout level>=warn -debug',
      help: logForms,
      fields: fieldsOf(asked, shown, orderOf(asked.conditions)),
      own: [...ownFields, ...more],
    })
