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
  /** The fields beside `q`, and the names of all that the form has. */
  fields: Html
  own: readonly string[]
  /** The field that the page's problem is about. */
  wrong: string | undefined
  /** Links to ranges beside the one that was searched; undefined where the search is refused, and there are no results. */
  moves?: Html | undefined
}>

const valueCharactersMax = 30

/** What a search is narrowed to beside `q`: `: service shop, from -1h`. */
function inUse(conditions: URLSearchParams): string {
  const names = [...new Set(conditions.keys())].filter((name) => name !== 'q' && !ofPage.includes(name))
  const words = names.map((name) => {
    const values = conditions.getAll(name).join(', ')
    return `${name.replaceAll('_', ' ')} ${cut(values, valueCharactersMax)}`
  })
  return words.length === 0 ? '' : `: ${words.join(', ')}`
}

/**
 * The form of a search, and the usual ranges of time. On a small screen all fields but `q` are folded below a line that says which of them
 * are in use: whoever has searched looks for results, and those would begin a whole screen below. Where there is room they simply stand
 * there (style.ts). `autocomplete`: whoever comes back would find in it what was chosen for the page after this one, which is not what the
 * results are of, and which the next search would have without a word.
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
