import { html, type Html } from '../html.ts'
import { choicesMax, notLink, onlyLink, othersNote } from './choice-links.ts'
import { clauseOf, type Condition } from './clause.ts'
import { errorTypeOf } from './log-failure.ts'
import type { ShownLog } from './log-rows.ts'
import { addressCharactersMax, createNarrow, type Search } from './narrow.ts'

type Counted = Readonly<{ type: Condition; count: number }>

/** The types of errors of these records, the most frequent first. */
function countTypes(logs: readonly ShownLog[]): readonly Counted[] {
  const counts = new Map<string, Counted>()
  for (const log of logs) {
    const type = errorTypeOf(log)
    // A clause is no shorter than what it is made of.
    if (type === undefined || type.field.length + type.text.length > addressCharactersMax) continue
    const key = clauseOf(type, false)
    counts.set(key, { type, count: (counts.get(key)?.count ?? 0) + 1 })
  }
  return [...counts.values()].toSorted((a, b) => b.count - a.count)
}

/**
 * The types of errors among the records that are shown, as links that narrow the search to one or leave it out. Of the page and not of all
 * that was found: names of errors are not counted by the index. Nothing where it would narrow nothing.
 */
export function errorTypes(search: Search, logs: readonly ShownLog[]): Html {
  const counted = countTypes(logs)
  if (counted.every(({ count }) => count === logs.length)) return html``
  const narrow = createNarrow(search)
  const links = counted.slice(0, choicesMax).map(({ type, count }) => {
    const [only, not] = [narrow(clauseOf(type, false)), narrow(clauseOf(type, true))]
    if (only === undefined || not === undefined) return html``
    const choice = { title: 'error', value: type.text }
    return html`${onlyLink({ ...choice, address: only }, count)}${notLink({ ...choice, address: not })}`
  })
  return html`<nav class="facets" aria-label="Errors of this page">
    <ul>
      <li><strong>Errors</strong> <span class="note">of this page</span> ${links}${othersNote(counted.length)}</li>
    </ul>
  </nav>`
}
