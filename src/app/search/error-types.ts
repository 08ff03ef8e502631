import { html, type Html } from '../html.ts'
import { countedValues } from './counted-values.ts'
import { errorTypeOf } from './log-failure.ts'
import type { ShownLog } from './log-rows.ts'
import type { Search } from './narrow.ts'

/** The error types among the records of the page. */
export function errorTypes(search: Search, logs: readonly ShownLog[]): Html {
  const conditionsOf = (log: ShownLog) => [errorTypeOf(log) ?? []].flat()
  const row = countedValues(search, logs, { head: 'Errors', title: 'error', conditionsOf })
  if (row === undefined) return html``
  return html`<nav class="facets" aria-label="Errors of this page">
    <ul>
      ${row}
    </ul>
  </nav>`
}
