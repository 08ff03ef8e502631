import { atFault } from '../context.ts'
import { cut } from '../format.ts'
import { html, type Html } from '../html.ts'
import { searchHelp, times, type HelpForm } from './search-help.ts'
import { givenFields, ofPage, rangeLinks, type Asked } from './search-parts.ts'

type Given = Readonly<{
  path: string
  asked: Asked
  label: string
  placeholder: string
  help: readonly HelpForm[]
  /** The fields beside `q`, and the names of all fields of the form. */
  fields: Html
  own: readonly string[]
  /** The field that the page's problem is about. */
  wrong: string | undefined
  /** Links to neighbouring ranges; undefined if the search was refused and there are no results. */
  moves?: Html | undefined
}>

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
  const { path, asked, label, placeholder, help, fields, own, wrong, moves } = given
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
