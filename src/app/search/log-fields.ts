import { levels } from '#src/events/telemetry.ts'
import type { LogSearchAnswer } from '#src/query/searches.ts'
import { html, type Html } from '../html.ts'
import { checkbox, field, listed, rangeFields, serviceSuggestions, type Asked } from './search-parts.ts'

/** What the log search is narrowed by beside `q`, on the pages that show it. */
export const logFacets = [
  { title: 'Level', name: 'level', repeats: true, charactersMax: 5, canBeLeftOut: true },
  { title: 'Service', name: 'service', charactersMax: 256, canBeLeftOut: true },
] as const

/** The fields of its form; `order`: how this page orders what it shows. */
export function logFields(
  asked: Asked,
  facets: LogSearchAnswer['facets'],
  wrong: string | undefined,
  order: Html,
): Html {
  const { conditions } = asked
  const chosen = listed(conditions, 'level')
  return html`${field({ label: 'Service', name: 'service', value: conditions.get('service') ?? '', list: 'services', wrong })}${serviceSuggestions(facets)}
    ${rangeFields(asked, wrong)} ${order}
    <fieldset class="row">
      <legend>Level</legend>
      ${levels.map((level) => checkbox('level', level, level, chosen.includes(level)))}
    </fieldset>`
}
