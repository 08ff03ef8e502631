import { levels } from '#src/events/telemetry.ts'
import type { LogSearchAnswer } from '#src/query/searches.ts'
import { html, type Html } from '../html.ts'
import { searchForm } from './search-form.ts'
import { logForms } from './search-help.ts'
import { checkbox, field } from '../fields.ts'
import { listed, nameSuggestions, rangeFields, type Asked } from './search-parts.ts'

/** Parameters beside `q` that narrow a log search. */
export const logFacets = [
  { title: 'Level', name: 'level', repeats: true, charactersMax: 5, canBeLeftOut: true },
  { title: 'Service', name: 'service', charactersMax: 256, canBeLeftOut: true },
] as const

const ownFields = ['q', 'service', 'from', 'to', 'order', 'level'] as const

function fieldsOf(asked: Asked, facets: LogSearchAnswer['facets'], wrong: string | undefined, order: Html): Html {
  const { conditions } = asked
  const chosen = listed(conditions, 'level')
  return html`${field({ label: 'Service', name: 'service', value: conditions.get('service') ?? '', list: 'services', wrong })}${nameSuggestions(facets, 'service')}
    ${rangeFields(asked, wrong)} ${order}
    <fieldset class="row">
      <legend>Level</legend>
      ${levels.map((level) => checkbox('level', level, level, chosen.includes(level)))}
    </fieldset>`
}

type FormOf = (asked: Asked, facets: LogSearchAnswer['facets'], wrong?: string, moves?: Html) => Html

/** `orderOf`: the form's fields for the order of the page. `more`: names of those that the search does not know. */
type Page = Readonly<{ path: string; orderOf: (conditions: URLSearchParams) => Html; more?: readonly string[] }>

/** The form of a log search, for the page at this path. */
export const createLogForm =
  ({ path, orderOf, more = [] }: Page): FormOf =>
  (asked, facets, wrong, moves) =>
    searchForm({
      path,
      asked,
      label: 'Search',
      placeholder: 'timeout level>=warn -debug',
      help: logForms,
      fields: fieldsOf(asked, facets, wrong, orderOf(asked.conditions)),
      own: [...ownFields, ...more],
      wrong,
      moves,
    })
