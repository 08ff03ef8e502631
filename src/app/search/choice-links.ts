import { inWords } from '../context.ts'
import { cut, isolated } from '../format.ts'
import { html, type Html } from '../html.ts'

/** How many values are offered to narrow a search by, and how much of each is shown. */
export const choicesMax = 8
export const choiceCharactersMax = 60

type Choice = Readonly<{ title: string; value: string; address: string }>

/** Narrows a search to a value. */
export function onlyLink({ title, value, address }: Choice, count: number): Html {
  const shown = cut(value, choiceCharactersMax)
  return html`<a class="mark" href="${address}" title="Only ${title}: ${shown}"
    >${isolated(shown)} <small>${inWords(count)}</small></a
  > `
}

/** Leaves a value out of a search. */
export function notLink({ title, value, address }: Choice): Html {
  const words = `Not ${title}: ${cut(value, choiceCharactersMax)}`
  return html`<a class="mark not" href="${address}" title="${words}" aria-label="${words}">−</a> `
}

/** How many values are folded behind those that are offered: each has two addresses. */
const othersMax = 40

/** What is offered of these values, the most frequent first, and the others behind a fold; `isCut`: there may be more than were counted. */
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
