import { inTime } from '#src/lib/in-time.ts'
import { figureTimeoutMs } from '../context.ts'
import { html, type Html } from '../html.ts'
import { asWords, isFoundBy, type FindAny } from './as-words.ts'
import { idsWithin } from './ids-within.ts'
import { nearFields, type FindLogs } from './near-fields.ts'
import { nearIds } from './near-ids.ts'
import { nearNames, type CountNames } from './near-names.ts'
import { otherForms, otherNames } from './other-names.ts'
import type { Asked } from './search-parts.ts'
import { looksLikeId } from './typed-id.ts'

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
  count: CountNames & FindLogs & FindAny,
): Promise<Html> {
  // The pages before it have found something.
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
  // Of an id by itself the page has said what it is; one among words is a word.
  const isPasted = /[:=/]/.test(typed) && !looksLikeId(typed)
  const ids = ofId.markup === '' && isPasted ? idsWithin(typed) : ofId
  await inTime(near(), figureTimeoutMs)
  isOver = true
  return html`${other}${ids}${found}`
}
