import { cut, isolated } from '../format.ts'
import { html, type Html } from '../html.ts'
import { choiceCharactersMax, choiceLinks, choiceList, notLink, onlyLink } from './choice-links.ts'
import { clauseOf, type Condition } from './clause.ts'
import { dottedFields, scalarsOf } from './field-table.ts'
import { errorTypeOf } from './log-failure.ts'
import { conditionOfValue } from './log-links.ts'
import type { ShownLog } from './log-rows.ts'
import { addressCharactersMax, createNarrow, type Search } from './narrow.ts'

type Counted = Readonly<{ value: Condition; count: number }>
/** Conditions that find a record by its own values; empty if there are none. */
type ConditionsOf = (log: ShownLog) => readonly Condition[]

/** The values of these records, the most frequent first. */
function countValues(logs: readonly ShownLog[], conditionsOf: ConditionsOf): readonly Counted[] {
  const counts = new Map<string, Counted>()
  for (const log of logs) {
    // A clause is at least as long as its parts, so longer values cannot fit.
    const values = conditionsOf(log).filter(({ field, text }) => field.length + text.length <= addressCharactersMax)
    for (const [key, value] of new Map(values.map((each) => [clauseOf(each, false), each]))) {
      counts.set(key, { value, count: (counts.get(key)?.count ?? 0) + 1 })
    }
  }
  return [...counts.values()].toSorted((a, b) => b.count - a.count)
}

type Told = Readonly<{ head: string; title: string; conditionsOf: ConditionsOf }>

/** A row of each value among these records, with links that narrow the search to it or exclude it. None if nothing would be narrowed. */
function countedRow(search: Search, logs: readonly ShownLog[], { head, title, conditionsOf }: Told): readonly Html[] {
  const counted = countValues(logs, conditionsOf)
  if (counted.every(({ count }) => count === logs.length)) return []
  const narrow = createNarrow(search)
  const linksOf = ({ value, count }: Counted): Html => {
    const [only, not] = [narrow(clauseOf(value, false)), narrow(clauseOf(value, true))]
    if (only === undefined || not === undefined) return html``
    const choice = { title, value: value.text }
    return html`${onlyLink({ ...choice, address: only }, count)}${notLink({ ...choice, address: not })}`
  }
  const row = html`<li>
    <strong>${isolated(head)}</strong> <span class="note">of this page</span> ${choiceLinks(title, counted, linksOf)}
  </li>`
  return [row]
}

/** The most fields that are counted: each may take as much time as a page of records. */
const fieldsMax = 8

/**
 * Counts of the error types among the records of the page, and of the fields that each line shows. Only of the page, because the index does not count
 * these.
 */
export function countsOfPage(search: Search, logs: readonly ShownLog[], names: readonly string[]): Html {
  const errorsOf = (log: ShownLog): readonly Condition[] => {
    const type = errorTypeOf(log)
    return type === undefined ? [] : [type]
  }
  const errors = countedRow(search, logs, { head: 'Errors', title: 'error', conditionsOf: errorsOf })
  const shown = names.slice(0, fieldsMax).flatMap((name) => {
    const title = cut(name, choiceCharactersMax)
    const conditionsOf = (log: ShownLog): readonly Condition[] =>
      scalarsOf(dottedFields(log.fields).find((field) => field.name === name)?.value).flatMap(
        (value) => conditionOfValue(log, name, String(value)) ?? [],
      )
    return countedRow(search, logs, { head: title, title, conditionsOf })
  })
  return html`${choiceList('Errors of this page', errors)}${choiceList('Shown fields of this page', shown)}`
}
