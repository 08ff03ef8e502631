import { inTime } from '#src/lib/in-time.ts'
import { figureTimeoutMs } from '../context.ts'
import { html, type Html } from '../html.ts'
import { nearFields, type FindLogs } from './near-fields.ts'
import { nearIds } from './near-ids.ts'
import { nearNames, type CountNames } from './near-names.ts'
import { otherNames } from './other-names.ts'
import type { Asked } from './search-parts.ts'

/** Whose search has the records with their fields. */
const ofLogs: readonly string[] = ['/app/logs', '/app/patterns']

/**
 * What else may have been meant by a search that has found nothing. `count`: the search that knows the names. A page can do without them: where they
 * cannot be had, or not soon, it says the rest.
 */
export async function meantBy(
  path: string,
  { conditions, cursors }: Asked,
  normalized: string,
  count: CountNames & FindLogs,
): Promise<Html> {
  // The pages before it have found something.
  if (cursors.length > 0) return html``
  const other = otherNames(path, conditions, normalized)
  async function near(): Promise<Html> {
    const names = await nearNames(path, conditions, normalized, count)
    const isSaid = names.markup !== '' || other.markup !== ''
    return isSaid || !ofLogs.includes(path) ? names : nearFields(path, conditions, normalized, count)
  }
  const ids = nearIds(path, conditions, normalized)
  return html`${other}${ids}${(await inTime(near(), figureTimeoutMs)) ?? html``}`
}
