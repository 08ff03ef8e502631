import { inTime } from '#src/lib/in-time.ts'
import { figureTimeoutMs } from '../context.ts'
import { html, type Html } from '../html.ts'
import { nearNames, type CountNames } from './near-names.ts'
import { otherNames } from './other-names.ts'
import type { Asked } from './search-parts.ts'

/**
 * What else may have been meant by a search that has found nothing. `count`: the search that knows the names. A page can do without them: where they
 * cannot be had, or not soon, it says the rest.
 */
export async function meantBy(
  path: string,
  { conditions, cursors }: Asked,
  normalized: string,
  count: CountNames,
): Promise<Html> {
  // The pages before it have found something.
  if (cursors.length > 0) return html``
  const near = await inTime(nearNames(path, conditions, normalized, count), figureTimeoutMs)
  return html`${otherNames(path, conditions, normalized)}${near ?? html``}`
}
