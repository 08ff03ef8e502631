import { inTime } from '#src/lib/in-time.ts'
import { fail } from '#src/lib/result.ts'
import { figureTimeoutMs } from '../../context.ts'
import { html, type Html } from '../../html.ts'
import type { Search } from '../narrow.ts'
import type { Asked } from '../asked.ts'
import { looksLikeId } from '../typed-id.ts'
import { asWords } from './as-words.ts'
import { idsWithin } from './ids-within.ts'
import { nearFields } from './near-fields.ts'
import { nearIds } from './near-ids.ts'
import { nearNames } from './near-names.ts'
import { otherForms, otherNames } from './other-names.ts'
import { didYouMean, type Find } from './page-search.ts'

/** Pages whose search returns records with their fields. */
const ofLogs: readonly string[] = ['/app/logs', '/app/patterns']

/** Links to the id that the search asks for, or to those that a pasted text holds. */
function aboutIds(search: Search): Html {
  const asked = nearIds(search)
  const typed = search.conditions.get('q')?.trim() ?? ''
  // The page has explained a lone id already; an id among words counts as a word.
  const isPasted = /[:=/]/.test(typed) && !looksLikeId(typed)
  return asked.markup === '' && isPasted ? idsWithin(typed) : asked
}

/**
 * Suggestions for a search that found nothing. `ask`: runs the search of the page. What its answers would have suggested is left out if they take too
 * long.
 */
export async function meantBy(
  path: Search['path'],
  { conditions, cursors }: Asked,
  normalized: string,
  ask: Find,
): Promise<Html> {
  // Earlier pages had results.
  if (cursors.length > 0) return html``
  const search = { path, conditions, normalized }
  let query = otherNames(search)
  const found: Html[] = []
  let isOver = false
  const find: Find = async (asked) => (isOver ? fail(undefined) : ask(asked))
  async function lookFurther(): Promise<void> {
    const form = await otherForms(search, find)
    if (form !== undefined) {
      query = form
      return
    }
    found.push(await nearNames(search, find))
    found.unshift(await asWords(search, find))
    const isSaid = query !== undefined || found.some(({ markup }) => markup !== '')
    if (!isSaid && ofLogs.includes(path)) found.push(await nearFields(search, find))
  }
  await inTime(lookFurther(), figureTimeoutMs)
  isOver = true
  return html`${didYouMean(search, query)}${aboutIds(search)}${found}`
}
