import type { Context } from 'koa'
import { sessionHere, type AppContext } from '../context.ts'
import { html, type Html } from '../html.ts'
import type { Asked } from './asked.ts'

// Somebody who types only an id usually wants what has it, of any age.

/** Ids as senders and other tools write them: of a trace, of a span, a `traceparent`, a UUID. */
const idLike =
  /^(?:(?:0x)?[\da-f]{16}|(?:0x)?[\da-f]{32}|[\da-f]{2}-[\da-f]{32}-[\da-f]{16}-[\da-f]{2}|[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})$/i
const withoutQuotes = (typed: string): string => typed.replace(/^"(.*)"$/, '$1')
export const looksLikeId = (typed: string): boolean => idLike.test(withoutQuotes(typed))

/** The sender chooses the form of session ids. */
const word = /^[\w.~-]{1,128}$/

/** Conditions that do not narrow the search. */
const ofWhenAndHow: readonly string[] = ['q', 'from', 'to', 'order', 'fields']

/** Whether the id is all that is asked for. In quotes, or with other conditions, it is searched as text. */
const isAlone = ({ conditions, cursors }: Asked): boolean =>
  cursors.length === 0 && [...conditions.keys()].every((name) => ofWhenAndHow.includes(name))

/** Whether something has the id; undefined if that is not known, because the index is behind. */
async function isKnown(ctx: Context, { searches }: AppContext, id: string): Promise<boolean | undefined> {
  const search = new URLSearchParams({ id }).toString()
  const known = await searches.correlation(sessionHere(ctx).workspaceId, search)
  if (!known.ok) return false
  return known.value.index.complete || known.value.timeline.length > 0 ? true : undefined
}

const openNotice = (address: string): Html =>
  html`<p class="notice">This looks like an id. <a href="${address}">Open what has it</a>, whatever its age.</p>`

const unknownNotice = (address: string): Html =>
  html`<p class="notice">
    This looks like an id, but it is of no trace, span, session or log record that is kept.
    <a href="${address}">Why that may be</a>
  </p>`

/** The address of the page of what has the id, or a notice for the search page. */
type TypedId = Readonly<{ address: string } | { address: undefined; notice: Html }>

/** What a search found: session ids, and whether there is anything. */
type Found = Readonly<{ sessionIds: readonly (string | null)[]; isEmpty: boolean }>

/**
 * Finds where the typed text leads. It is looked up if it has the form of an id, is the id of a session that was found, or found nothing. Any other
 * word that finds something is just a word.
 */
export async function lookUpTyped(ctx: Context, app: AppContext, asked: Asked, found: Found): Promise<TypedId> {
  const typed = asked.conditions.get('q')?.trim() ?? ''
  const bare = withoutQuotes(typed)
  const address = `/app/find?id=${encodeURIComponent(bare)}`
  const isId = looksLikeId(typed)
  const isLikely = isId || found.isEmpty || found.sessionIds.includes(typed)
  const known = isLikely && word.test(typed) && isAlone(asked) ? await isKnown(ctx, app, typed) : undefined
  if (known === true) return { address }
  if (!isId) return { address: undefined, notice: html`` }
  return { address: undefined, notice: known === false ? unknownNotice(address) : openNotice(address) }
}
