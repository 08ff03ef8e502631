import type { Hit } from '../index-store.ts'

/**
 * The most characters of JSON that the documents of a page may have, whatever its limit. Nobody reads a page of a hundred records of a megabyte,
 * and it would keep a process busy for seconds.
 */
export const pageCharactersMax = 8 * 1024 * 1024

/** Whether there may be more hits, if a search for `limit + 1` found these. */
export const hasMore = (hits: readonly Hit[], limit: number): boolean =>
  hits.length > limit || hits.at(-1)?.endsForSize === true

/** Whether a search for `limit` has found all there is. */
export const isAll = (hits: readonly Hit[], limit: number): boolean =>
  hits.length < limit && hits.at(-1)?.endsForSize !== true
