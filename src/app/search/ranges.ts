import { counted } from '../context.ts'
import { field, suggestions } from '../fields.ts'
import { zone } from '../format.ts'
import { html, type Html } from '../html.ts'
import type { Asked } from './asked.ts'
import { addressWith } from './conditions.ts'

/** The usual ranges, up to now. */
const ranges = [
  ['-15m', '15 minutes'],
  ['-1h', 'hour'],
  ['-6h', '6 hours'],
  ['-24h', '24 hours'],
] as const
const rangesDays = [7, 30]

/** The usual ranges within the plan's retention, and all of the retention. */
function rangesWithin(keptDays: number): readonly (readonly [string, string])[] {
  const days = [...rangesDays.filter((each) => each < keptDays), ...(keptDays > 1 ? [keptDays] : [])]
  return [...ranges, ...days.map((each) => [`-${each}d`, counted(each, 'day')] as const)]
}

/** Fields for both ends of the range, with the usual ones suggested. */
export const rangeFields = ({ conditions, plan }: Asked, wrong: string | undefined): Html => {
  const of = (name: string): string => conditions.get(name) ?? ''
  return html`${field({ label: html`From (${zone})`, name: 'from', value: of('from'), placeholder: '-24h', list: 'ranges', wrong })}
  ${field({ label: html`To (${zone})`, name: 'to', value: of('to'), placeholder: 'now', wrong })}
  ${suggestions(
    'ranges',
    rangesWithin(plan.retentionDays).map(([from]) => from),
  )}`
}

/** Conditions with which a search without a range looks at all times. */
export const ofAllTimes = ['around', 'trace_id', 'session_id'] as const

/** Links to the same search in the usual ranges, also as a way back from a narrow one. `moves`: links to neighbouring ranges. */
export function rangeLinks(path: string, { conditions, plan }: Asked, moves: Html): Html {
  if (conditions.has('around')) return html``
  const byId = ofAllTimes.some((name) => conditions.has(name))
  const shown = conditions.has('to') ? undefined : (conditions.get('from') ?? (byId ? undefined : '-24h'))
  return html`<nav class="tabs" aria-label="Time range">
    <span class="note">Last</span>
    ${rangesWithin(plan.retentionDays).map(([from, words]) => {
      const current = from === shown ? html`aria-current="true"` : html``
      return html`<a href="${addressWith(path, conditions, { from, to: null })}" ${current}>${words}</a> `
    })}${moves}
  </nav>`
}
