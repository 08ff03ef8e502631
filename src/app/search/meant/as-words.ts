import { html, type Html } from '../../html.ts'
import type { Search } from '../narrow.ts'
import { isFoundBy, isOwnField, linkTo, type Find } from './page-search.ts'
import { plainClauses } from './plain-clauses.ts'

// A pasted message may have colons: `TypeError: x is null` searches for a field TypeError, which no record has.

const anyName = String.raw`[^\s()":=*?<>[\]\\]+`

/** The same search, with each clause on a field that is not the page's own turned into a phrase of the field's name and its value. */
function inWords(search: Search): string {
  const clauses = plainClauses(search.normalized, [anyName]).filter(({ name }) => !isOwnField(search, name))
  // From the end, because each replacement moves what follows.
  return clauses.toReversed().reduce((query, { index, name, text, value }) => {
    const words = `"${name}${text[name.length]}${value}"`
    return query.slice(0, index) + words + query.slice(index + text.length)
  }, search.normalized)
}

/** A lower-case `not`, which excludes the next word. In a message, as in `does not exist`, it is a word like others. */
const notAsWord = /(?<=\S\s+)not(?=\s+\S)/

/** The typed text as a phrase if it has a `not`. Without one, a phrase would find no more than the search. */
const inPhrase = (typed: string): string | undefined =>
  notAsWord.test(typed) ? `"${typed.replaceAll(/["\\\s]+/g, ' ').trim()}"` : undefined

/** A suggestion for a search without results, if it finds something once its fields, values or operators are taken for words. */
export async function asWords(search: Search, find: Find): Promise<Html> {
  const meant = (why: string, q: string): Html => html`<p>${why} Did you mean the words ${linkTo(search, q)}?</p>`
  const words = inWords(search)
  if (words !== search.normalized && (await isFoundBy(find, search, words))) {
    return meant('A word before a colon is a field.', words)
  }
  const phrase = inPhrase(search.conditions.get('q') ?? '')
  if (phrase === undefined || !(await isFoundBy(find, search, phrase))) return html``
  return meant('A “not” leaves out what follows it.', phrase)
}
