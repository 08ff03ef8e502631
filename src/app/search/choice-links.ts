import { inWords } from '../context.ts'
import { cut, isolated } from '../format.ts'
import { html, type Html } from '../html.ts'

/** How many values are offered for narrowing a search, and how many characters of each are shown. */
export const choicesMax = 8
export const choiceCharactersMax = 60

type Choice = Readonly<{ title: string; value: string; address: string }>

/** A link that narrows a search to a value. */
export function onlyLink({ title, value, address }: Choice, count: number): Html {
  const shown = cut(value, choiceCharactersMax)
  return html`<a class="mark" href="${address}" title="Only ${title}: ${shown}"
    >${isolated(shown)} <small>${inWords(count)}</small></a
  > `
}

/** A link that excludes a value. */
export function notLink({ title, value, address }: Choice): Html {
  const words = `Not ${title}: ${cut(value, choiceCharactersMax)}`
  return html`<a class="mark not" href="${address}" title="${words}" aria-label="${words}">−</a> `
}

/** A list of such choices, a field in each row; empty without rows. */
export const choiceList = (label: string, rows: readonly Html[]): Html =>
  rows.length === 0
    ? html``
    : html`<nav class="facets" aria-label="${label}">
        <ul>
          ${rows}
        </ul>
      </nav>`

/** How many more values are folded behind these: each has two addresses. */
const othersMax = 40

/** Links for these values, the most frequent first, the rest folded. `isCut`: there may be more values than were counted. */
export function choiceLinks<Value>(
  title: string,
  values: readonly Value[],
  linksOf: (value: Value) => Html,
  isCut = false,
): Html {
  const first = values.slice(0, choicesMax).map(linksOf)
  const others = values.slice(choicesMax, choicesMax + othersMax).map(linksOf)
  if (others.length === 0) return html`${first}`
  const left = values.length - choicesMax - others.length
  const words = isCut ? 'and perhaps others, less frequent' : left > 0 ? `and ${inWords(left)} more` : ''
  const note = words === '' ? html`` : html`<span class="note">${words}</span>`
  return html`${first}
    <details>
      <summary aria-label="and others: ${title}">and others</summary>
      ${others}${note}
    </details>`
}
