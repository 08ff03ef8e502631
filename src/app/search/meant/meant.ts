import { inTime } from '#src/lib/in-time.ts'
import { figureTimeoutMs } from '../../context.ts'
import { html, type Html } from '../../html.ts'
import { asWords, isFoundBy, type FindAny } from './as-words.ts'
import { idsWithin } from './ids-within.ts'
import { nearFields, type FindLogs } from './near-fields.ts'
import { nearIds } from './near-ids.ts'
import { nearNames, type CountNames } from './near-names.ts'
import { otherForms, otherNames } from './other-names.ts'
import type { Asked } from '../search-parts.ts'
import { looksLikeId } from '../typed-id.ts'

/** Pages whose search returns records with their fields. */
const ofLogs: readonly string[] = ['/app/logs', '/app/patterns']

/**
 * Suggestions for a search that found nothing. `count`: the search that knows names. If names are not available in time, the other suggestions are
 * shown.
 */
export async function meantBy(
  path: string,
  { conditions, cursors }: Asked,
  normalized: string,
  count: CountNames & FindLogs & FindAny,
): Promise<Html> {
  // Earlier pages had results.
  if (cursors.length > 0) return html``
  let other = otherNames(path, conditions, normalized)
  const found: Html[] = []
  let isOver = false
  async function near(): Promise<void> {
    const isFound = async (q: string): Promise<boolean> => !isOver && (await isFoundBy(count, conditions, q))
    const form = await otherForms(path, conditions, normalized, isFound)
    if (isOver) return
    if (form.markup !== '') {
      other = form
      return
    }
    found.push(await nearNames(path, conditions, normalized, count))
    if (isOver) return
    found.unshift(await asWords(path, conditions, normalized, count))
    const isSaid = [...found, other].some(({ markup }) => markup !== '')
    if (isOver || isSaid || !ofLogs.includes(path)) return
    found.push(await nearFields(path, conditions, normalized, count))
  }
  const ofId = nearIds(path, conditions, normalized)
  const typed = conditions.get('q')?.trim() ?? ''
  // The page has explained a lone id already; an id among words counts as a word.
  const isPasted = /[:=/]/.test(typed) && !looksLikeId(typed)
  const ids = ofId.markup === '' && isPasted ? idsWithin(typed) : ofId
  await inTime(near(), figureTimeoutMs)
  isOver = true
  return html`${other}${ids}${found}`
}
