import { cut, isolated } from '../format.ts'
import { html, type Html } from '../html.ts'
import { choiceCharactersMax, choiceLinks, notLink, onlyLink } from './choice-links.ts'
import { clauseOf, type Condition } from './clause.ts'
import { dottedFields, scalarsOf } from './field-table.ts'
import { conditionOfValue } from './log-links.ts'
import type { ShownLog } from './log-rows.ts'
import { addressCharactersMax, createNarrow, type Search } from './narrow.ts'

type Counted = Readonly<{ value: Condition; count: number }>
/** What finds a record by values of its own; none where it has none, or nothing does. */
type ConditionsOf = (log: ShownLog) => readonly Condition[]

/** The values of these records, the most frequent first. */
function countValues(logs: readonly ShownLog[], conditionsOf: ConditionsOf): readonly Counted[] {
  const counts = new Map<string, Counted>()
  for (const log of logs) {
    // A clause is no shorter than what it is made of.
    const values = conditionsOf(log).filter(({ field, text }) => field.length + text.length <= addressCharactersMax)
    for (const [key, value] of new Map(values.map((each) => [clauseOf(each, false), each]))) {
      counts.set(key, { value, count: (counts.get(key)?.count ?? 0) + 1 })
    }
  }
  return [...counts.values()].toSorted((a, b) => b.count - a.count)
}

type Told = Readonly<{ head: string; title: string; conditionsOf: ConditionsOf }>

/**
 * How often each value is among the records that are shown, as links that narrow the search to one or leave it out. Of the page and not of all
 * that was found: the index does not count them. Undefined where it would narrow nothing.
 */
export function countedValues(
  search: Search,
  logs: readonly ShownLog[],
  { head, title, conditionsOf }: Told,
): Html | undefined {
  const counted = countValues(logs, conditionsOf)
  if (counted.every(({ count }) => count === logs.length)) return undefined
  const narrow = createNarrow(search)
  const linksOf = ({ value, count }: Counted): Html => {
    const [only, not] = [narrow(clauseOf(value, false)), narrow(clauseOf(value, true))]
    if (only === undefined || not === undefined) return html``
    const choice = { title, value: value.text }
    return html`${onlyLink({ ...choice, address: only }, count)}${notLink({ ...choice, address: not })}`
  }
  return html`<li>
    <strong>${isolated(head)}</strong> <span class="note">of this page</span> ${choiceLinks(title, counted, linksOf)}
  </li>`
}

/** Fields that are counted: each may take as much as a page of records. */
const fieldsMax = 8

/** The values of the fields that each line shows. */
export function shownCounts(search: Search, logs: readonly ShownLog[], names: readonly string[]): Html {
  const rows = names.slice(0, fieldsMax).flatMap((name) => {
    const title = cut(name, choiceCharactersMax)
    const conditionsOf = (log: ShownLog): readonly Condition[] =>
      scalarsOf(dottedFields(log.fields).find((field) => field.name === name)?.value).flatMap(
        (value) => conditionOfValue(log, name, String(value)) ?? [],
      )
    return countedValues(search, logs, { head: title, title, conditionsOf }) ?? []
  })
  if (rows.length === 0) return html``
  return html`<nav class="facets" aria-label="Shown fields of this page">
    <ul>
      ${rows}
    </ul>
  </nav>`
}
