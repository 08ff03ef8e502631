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

/** Where there are more values than are offered. */
export const othersNote = (count: number): Html =>
  count > choicesMax ? html`<span class="note">and others</span>` : html``
