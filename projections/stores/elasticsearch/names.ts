import { createHash } from 'node:crypto'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import type { IndexName } from '../../index-store.ts'
import type { DocumentId } from '../../projection.ts'

/** The index names of one installation; `prefix` distinguishes it from others on the same server. */
export type Names = Readonly<{
  /** Our indices, all of them. */
  all: string
  /** Where builds and rosters are kept. */
  state: string
  /** One collection of a build on one day of receipt: `throughline-logs-v1-001-logs-2026.11.21`. */
  day(index: IndexName, collection: string, day: string): string
  /** All days of a collection, for searches. */
  days(index: IndexName, collection: string): string
  /** All indices of a build. */
  build(index: IndexName): string
  /** Whether that is the index of a day of a build, and not one that somebody has made beside it, such as a copy, or that an alias of ours leads to. */
  isDay(index: IndexName, name: string): boolean
}>

/** Index names have no capitals: `attributeSets` becomes `attribute_sets`. */
const lowerCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

export function createNames(prefix: string): Names {
  const days = (index: IndexName, collection: string): string => `${prefix}-${index}-${lowerCase(collection)}-`
  return {
    all: `${prefix}-*`,
    state: `${prefix}-state`,
    day: (index, collection, day) => days(index, collection) + day.replaceAll('-', '.'),
    days: (index, collection) => `${days(index, collection)}*`,
    build: (index) => `${prefix}-${index}-*`,
    isDay: (index, name) => goesOnAs(/^[a-z\d_]+-\d{4}\.\d\d\.\d\d$/, `${prefix}-${index}-*`, name),
  }
}

/** Whether a name is that of a wildcard (`begin*`) with this in the place of the star. */
const goesOnAs = (rest: RegExp, wildcard: string, name: string): boolean =>
  name.startsWith(wildcard.slice(0, -1)) && rest.test(name.slice(wildcard.length - 1))

/** Whether that is one of the days of a collection (`days`), and no copy of one. */
export const isOneOf = (days: string, name: string): boolean => goesOnAs(/^\d{4}\.\d\d\.\d\d$/, days, name)

/** A wildcard (`begin*`), and not what these match in the place of the star. */
const without = (wildcard: string, endings: readonly string[]): string =>
  [wildcard, ...endings.map((ending) => `-${wildcard.slice(0, -1)}${ending}`)].join()

/**
 * Of a collection's days (`days`), without their copies, which would be counted too, and may be older than what they are copies of. The name of a
 * copy goes on behind the day, as with `-copy`, `_old`, `.bak`. Days have none of these.
 */
export const withoutCopies = (days: string): string => without(days, ['*-*', '*_*', '*.*.*.*'])

/** All days of a build (`build`), without their copies. */
export const withoutCopiesOf = (build: string): string => without(build, ['*-*-*', '*-*_*', '*.*.*.*'])

const dayPattern = /-(\d{4})\.(\d\d)\.(\d\d)$/

/** All days of the collection that the index of a day belongs to. */
export const daysBeside = (name: string): string => name.replace(dayPattern, '-*')

/** The day of a day's index; undefined for any other name. */
export function dayIn(name: string): string | undefined {
  const [, year, month, day] = dayPattern.exec(name) ?? []
  return year === undefined ? undefined : `${year}-${month}-${day}`
}

const digitsAbove = (digit: string): readonly string[] => '0123456789'.split('').filter((other) => other > digit)

/** Prefixes that match the names of a day and of all later ones, and no others: the day itself, and each of its digits raised. */
export function daysFrom(first: string): readonly string[] {
  const day = first.replaceAll('-', '.')
  const later = day
    .split('')
    .flatMap((digit, at) => (digit === '.' ? [] : digitsAbove(digit).map((above) => day.slice(0, at) + above)))
  return [day, ...later]
}

const idBytesMax = 512

/** The `_id` of a document: an index holds all workspaces. An id that is too long for Elasticsearch is replaced by its hash. */
export function documentKey(workspaceId: WorkspaceId, id: DocumentId): string {
  const key = `${workspaceId}/${id}`
  // A UTF-16 unit is at most three bytes.
  if (key.length * 3 <= idBytesMax || Buffer.byteLength(key) <= idBytesMax) return key
  return `${workspaceId}/#${createHash('sha256').update(id).digest('base64url')}`
}
