import type { TraceSearchAnswer } from '#src/query/searches.ts'
import { facetValuesMax, inWords } from '../context.ts'
import { cut, isolated } from '../format.ts'
import { html, type Html } from '../html.ts'
import { choiceCharactersMax, choiceLinks, choiceList, notLink, onlyLink } from './choice-links.ts'
import { clauseOf } from './clause.ts'
import { createNarrow, type Search } from './narrow.ts'
import { listed } from './asked.ts'

/** A search parameter whose most frequent values are offered. */
type Group = Readonly<{
  title: string
  /** Name of the parameter, and of the facet that counts its values. */
  name: string
  /** Whether the parameter may be repeated. */
  repeats?: boolean
  /** The longest value that the parameter takes. */
  charactersMax: number
  /** The page's word for a value; values without one are not shown. */
  words?: (value: string) => string | undefined
  /** Whether a value can be excluded. True for logs; a trace also has other spans, and would still be found. */
  canBeLeftOut?: boolean
}>

type Given = Search &
  Readonly<{
    groups: readonly Group[]
    /** Undefined or null if nothing was counted. */
    facets: TraceSearchAnswer['facets']
    /** The noun for what is counted. */
    noun: string
  }>

const chosenOf = (conditions: URLSearchParams, { name, repeats = false }: Group): readonly string[] =>
  repeats ? listed(conditions, name) : conditions.getAll(name)

function addressOf({ path, conditions }: Given, { name }: Group, values: readonly string[]): string {
  const search = new URLSearchParams(conditions)
  search.delete(name)
  for (const value of values) search.append(name, value)
  return `${path}?${search.toString()}`
}

/** A link to the same search without this value. */
function leftOutLink(given: Given, { title, name, canBeLeftOut = false }: Group, value: string): Html {
  if (!canBeLeftOut) return html``
  const address = createNarrow(given)(clauseOf({ field: name, operator: '=', text: value }, true))
  if (address === undefined) return html``
  return notLink({ title, value, address })
}

function groupRow(given: Given, group: Group): Html {
  const { title, name, repeats = false, charactersMax, words = (value: string) => value } = group
  const chosen = chosenOf(given.conditions, group)
  const counted = given.facets?.find(({ field }) => field === name)?.values ?? []
  const countOf = (value: string): Html => {
    const found = counted.find((each) => each.value === value)
    return found === undefined ? html`` : html` <small>${inWords(found.count)}</small>`
  }
  const active = [...new Set(chosen)].map((value) => {
    const shown = cut(words(value) ?? value, choiceCharactersMax)
    const rest = chosen.filter((each) => each !== value)
    return html`<a
      class="mark"
      aria-current="true"
      href="${addressOf(given, group, rest)}"
      title="Remove ${title}: ${shown}"
      >${isolated(shown)}${countOf(value)} ✕</a
    > `
  })
  const offered = counted
    .filter(({ value }) => value !== '' && value.length <= charactersMax)
    .filter(({ value }) => !chosen.includes(value) && words(value) !== undefined)
  const linksOf = ({ value, count }: (typeof offered)[number]): Html => {
    const address = addressOf(given, group, repeats ? [...chosen, value] : [value])
    const only = onlyLink({ title, value: words(value) ?? value, address }, count)
    return html`${only}${leftOutLink(given, group, value)}`
  }
  if (active.length + offered.length === 0) return html``
  const isCut = counted.length >= facetValuesMax
  return html`<li><strong>${title}</strong> ${active}${choiceLinks(title, offered, linksOf, isCut)}</li>`
}

/** The most frequent values as links that narrow the search, and the chosen ones as links that remove them. */
export function facetRow(given: Given): Html {
  const rows = given.groups.map((group) => groupRow(given, group)).filter(({ markup }) => markup !== '')
  return choiceList(`Narrow the search, by number of ${given.noun}`, rows)
}
