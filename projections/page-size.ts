import type { Hit } from './index-store.ts'

/**
 * What the documents of one page come to, in characters of JSON, whatever its limit: a hundred records of a megabyte are a page that
 * nobody reads, and that one process would be at for seconds.
 */
export const pageCharactersMax = 8 * 1024 * 1024

/** Whether there may be more behind what a search has found that was asked for one more than `limit`. */
export const hasMore = (hits: readonly Hit[], limit: number): boolean =>
  hits.length > limit || hits.at(-1)?.endsForSize === true

/** Whether a search that was asked for `limit` has found all that there is. */
export const isAll = (hits: readonly Hit[], limit: number): boolean =>
  hits.length < limit && hits.at(-1)?.endsForSize !== true
