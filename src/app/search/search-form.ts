import type { TraceSearchAnswer } from '#src/query/searches.ts'
import { atFault } from '../context.ts'
import { field, suggestions } from '../fields.ts'
import { cut } from '../format.ts'
import { html, type Html } from '../html.ts'
import { searchHelp, times, type HelpForm } from './search-help.ts'
import type { Asked } from './asked.ts'
import { rangeLinks } from './ranges.ts'

/** A form's state. `wrong`: the field that the page's problem is about. `moves`: links to neighbouring ranges, unless the search was refused. */
export type FormShown = Readonly<{
  facets?: TraceSearchAnswer['facets']
  wrong?: string | undefined
  moves?: Html
}>

/** The form of a search page, filled in with what was asked. */
export type FormOf = (asked: Asked, shown: FormShown) => Html

type Given = Readonly<{
  path: string
  asked: Asked
  shown: FormShown
  label: string
  placeholder: string
  help: readonly HelpForm[]
  /** The fields beside `q`, and the names of all fields of the form. */
  fields: Html
  own: readonly string[]
}>

/** Parameters of a page, not of a search: sending the form drops them. */
const ofPage: readonly string[] = ['limit', 'include', 'around', 'before', 'after']

/** Hidden fields for conditions that only an address can give, which the form would otherwise drop. `own`: names of the form's other fields. */
const givenFields = (conditions: URLSearchParams, own: readonly string[], wrong: string | undefined): readonly Html[] =>
  [...conditions]
    .filter(([name]) => !own.includes(name) && !ofPage.includes(name))
    .map(([name, value]) => field({ label: name, name, value, size: 34, wrong }))

const valueCharactersMax = 30

/** What narrows the search beside `q`: `: service shop, from -1h`. */
function inUse(conditions: URLSearchParams): string {
  const names = [...new Set(conditions.keys())].filter((name) => name !== 'q' && !ofPage.includes(name))
  const words = names.map((name) => {
    const values = conditions.getAll(name).join(', ')
    return `${name.replaceAll('_', ' ')} ${cut(values, valueCharactersMax)}`
  })
  return words.length === 0 ? '' : `: ${words.join(', ')}`
}

/**
 * The form of a search, with the usual time ranges. On a small screen all fields but `q` are folded, and the summary names those in use: otherwise
 * results would begin a screen below. On a larger screen they are always shown (style.ts).
 * `autocomplete` is off, because a browser would restore, on going back, what was chosen for the next page. The results shown would be of another
 * search, and the next search would silently have those values.
 */
export function searchForm(given: Given): Html {
  const { path, asked, label, placeholder, help, fields, own } = given
  const { wrong, moves } = given.shown
  const { conditions } = asked
  const isWrong = wrong !== undefined && wrong !== 'q'
  return html`<form class="search" method="get" action="${path}" role="search" autocomplete="off">
      ${moves === undefined ? html`` : html`<a class="skip" href="#results">Skip to the results</a>`}
      <label
        >${label}
        <input
          name="q"
          type="search"
          value="${conditions.get('q') ?? ''}"
          placeholder="${placeholder}"
          ${atFault(wrong === 'q')}
      /></label>
      <button type="submit">Search</button>
      ${searchHelp([...help, times])}
      <details class="filters" ${isWrong ? html`open` : html``}>
        <summary>Filters${inUse(conditions)}</summary>
        <div class="inputs">${fields}${givenFields(conditions, own, wrong)}</div>
      </details>
    </form>
    ${rangeLinks(path, asked, moves ?? html``)}`
}

/** Suggestions for the field of a service or operation, from the results. */
export const nameSuggestions = (facets: TraceSearchAnswer['facets'], name: 'service' | 'operation'): Html => {
  const found = facets?.find(({ field }) => field === name)?.values ?? []
  return suggestions(
    `${name}s`,
    found.map(({ value }) => value),
  )
}
