import type { Position } from '#src/events/envelope.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import { mapInTurns } from '#src/lib/in-turns.ts'
import type { Json } from '#src/lib/json.ts'
import type { Facet, Hit, IndexQuery, IndexReader, Progress, Scope, Selection } from '../index-store.ts'
import { askInOrder } from '../reading/ask-in-order.ts'
import { ownField, type OwnField } from '../reading/field-schema.ts'
import { createHighlighter } from '../reading/highlight.ts'
import { countOverTime, stepsOf, type Counted, type Steps } from '../reading/histogram.ts'
import { hasMore, isAll, pageCharactersMax } from '../reading/page-size.ts'
import { namesOfMessage } from '../reading/record-tokens.ts'
import { logSchema, type LogDocument } from './log-document.ts'
import { logItem, type FoundLog } from './log-item.ts'
import { placeOf, readPlace, tailPlace, type ArrivalPlace, type LogPlace } from './log-place.ts'
import { logSelection, logsScope, type LogFilters } from './log-selection.ts'

export type { LogItem } from './log-item.ts'
export type { LogFilters } from './log-selection.ts'
export { exportLogs } from './export-logs.ts'
export { datedBy } from '#src/wire/logs/record.ts'
export { timesAsText } from './times-as-text.ts'
export type { OwnField } from '../reading/field-schema.ts'

/** The own field of log records that a search compares under a name, if there is one. */
export const ownLogField = (name: string): OwnField | undefined => ownField(logSchema, name)

export type LogRequest = LogFilters &
  Readonly<{
    limit: number
    /** A key of an earlier page: `next` continues, `prev` asks for what has arrived since. */
    after?: Json
    /** The id of a record; the answer has it with `before` older and `afterCount` newer records that the filters match. */
    around?: string
    before?: number
    afterCount?: number
    include?: readonly ('histogram' | 'facets' | 'count')[]
    /** For the histogram: see CountedOverTime. */
    farNs?: bigint
  }>

/** Counts over record time, without empty buckets. `and_later`: marks the last bucket, which has no end. */
type LogHistogram = Readonly<{
  step_ms: number
  buckets: readonly Readonly<{
    time: string
    total: number
    by_level: Readonly<Record<string, number>>
    and_later?: true
  }>[]
}>

export type LogPage = Readonly<{
  logs: readonly FoundLog[]
  /** Continues in the order of time; null at the end. */
  next: Json
  /** Follows by arrival, including records with an older time: give it as `after` of the same request. */
  prev: Json
  /** The log ends before the followed place, so it is another log. `prev` follows it from its end. */
  beginsAnew?: true
  progress: Progress | undefined
  histogram?: LogHistogram
  facets?: readonly Facet[]
  count?: number
}>

const facetFields = ['level', 'service', 'source']
const facetValuesMax = 20

/** Searches logs. Rejects with TooBroadError if a pattern matches too many words. */
export async function searchLogs(reader: IndexReader, workspaceId: WorkspaceId, request: LogRequest): Promise<LogPage> {
  const scope = logsScope(workspaceId)
  const selection = logSelection(request)
  const place = readPlace(request.after)
  // The index's progress is read first: whatever comes later has a higher position, so following from it (`prev`) misses nothing.
  let asked: Promise<Progress | undefined> | undefined
  const howFar = (): Promise<Progress | undefined> => (asked ??= reader.progress('logs'))
  const search = { reader, scope, selection, request, howFar }
  let looked: Promise<Found> | undefined
  const look = (): Promise<Found> =>
    (looked ??= place?.kind === 'arrival' ? findArrived(search, place) : findPage(search, place))
  const counting = { reader, scope, selection, farNs: request.farNs }
  // Computed first, so that the page and the counts are asked together and see the same moment.
  const steps = request.include?.includes('histogram') === true ? await stepsOf(reader, counting) : undefined
  const count = (counted: Selection): Promise<Included> =>
    included({ ...counting, selection: counted }, steps, request.include)
  const [progress, found, more] = await askInOrder(reader, [
    howFar,
    look,
    reader.answersInOrder === true
      ? () => count(selection)
      : async () => count({ ...selection, upTo: lastOf(await howFar(), await look()) }),
  ])
  const highlight = createHighlighter(request.query ?? { kind: 'all' })
  const logs = await mapInTurns(found.hits, (hit) => {
    const item = logItem(hit, request.fields)
    const highlights = highlight(item.message, namesOfMessage(item.message, hit.document.fields))
    return { ...item, highlights }
  })
  const position = progress?.position ?? 0
  const ahead = found.hits.filter((hit) => hit.position > position).map(({ id }) => id)
  const prev = found.prev ?? tailPlace(position, null, ahead)
  return { logs, next: found.next, prev, ...(found.beginsAnew && { beginsAnew: true }), progress, ...more }
}

/** Up to which position to count for a page that was read before: later records are not on it. */
const lastOf = (progress: Progress | undefined, { hits }: Found): Position =>
  hits.reduce((last, { position }) => Math.max(last, position), progress?.position ?? 0)

type Search = Readonly<{
  reader: IndexReader
  scope: Scope
  selection: Selection
  request: LogRequest
  howFar(this: void): Promise<Progress | undefined>
}>

/** `prev` is set if the page itself followed by arrival. */
type Found = Readonly<{ hits: readonly Hit<LogDocument>[]; next: Json; prev?: Json; beginsAnew?: true }>

/** The limit of the documents: an answer may have the message twice, by itself and in the fields. */
const charactersMax = pageCharactersMax / 2

/** A page by time. */
const findByTime = (
  { reader, scope, selection }: Search,
  page: Pick<IndexQuery, 'direction' | 'limit' | 'after'>,
): Promise<readonly Hit<LogDocument>[]> =>
  reader.search(scope, { ...selection, ...page, orderBy: 'timeNs', charactersMax })

async function findPage(search: Search, place: (LogPlace & { kind: 'time' }) | undefined): Promise<Found> {
  const { around, order, limit } = search.request
  if (place === undefined && around !== undefined) return findAround(search, around)
  return cut(await findByTime(search, { direction: order, limit: limit + 1, after: place?.key }), limit)
}

/** The first `limit` of the hits, which were asked for with one more to see whether there are more. */
function cut(hits: readonly Hit<LogDocument>[], limit: number): Found {
  const page = hits.slice(0, limit)
  const last = page.at(-1)
  return { hits: page, next: hasMore(hits, limit) && last !== undefined ? placeOf(last) : null }
}

/**
 * The place behind the records that a follower has passed. `upTo`: nothing else is left up to there; otherwise a search that finds nothing would look at
 * all of it again each time, for as long as it is followed.
 */
function placeBehind({ position, id, shown }: ArrivalPlace, passed: readonly Hit[], upTo: Position | undefined): Json {
  const ids = passed.map((hit) => hit.id)
  const ahead = shown.filter((each) => !ids.includes(each))
  if (upTo !== undefined) return tailPlace(upTo, null, ahead)
  const last = passed.at(-1)
  return tailPlace(last?.position ?? position, last?.id ?? id, ahead)
}

/**
 * What has arrived since a place: walked in the order of arrival, shown in the order of the request. Only up to where the index is complete: in a
 * batch that is being written, a later record may be found before an earlier one, which a follower would then never see.
 */
async function findArrived({ reader, scope, selection, request, howFar }: Search, place: ArrivalPlace): Promise<Found> {
  const { position, id, shown } = place
  const { limit, order } = request
  const { position: upTo, head } = (await howFar()) ?? { position: 0, head: position }
  // This happens if an older log was restored: new events get positions at which there were others. If it is only that this process has not heard of
  // the newest end, the follower sees some records twice.
  if (head < position) return { hits: [], next: null, prev: tailPlace(head, null, []), beginsAnew: true }
  const since = id === null ? { since: position } : { after: { value: BigInt(position), id } }
  const walk = {
    ...selection,
    ...since,
    upTo,
    orderBy: 'position',
    direction: 'asc',
    limit: limit + shown.length,
    charactersMax,
  } as const
  const met = await reader.search<LogDocument>(scope, walk)
  const fresh = met.filter((hit) => !shown.includes(hit.id))
  const hits = fresh.slice(0, limit)
  const isFull = fresh.length > limit
  // The place moves past records that were shown before, unless there was no room for all new ones.
  const passed = isFull ? met.slice(0, met.findIndex((hit) => hit === hits.at(-1)) + 1) : met
  const isEnd = !isFull && isAll(met, walk.limit) && position <= upTo
  const prev = placeBehind(place, passed, isEnd ? upTo : undefined)
  return { hits: order === 'desc' ? [...hits].reverse() : hits, next: null, prev }
}

async function findAround(search: Search, id: string): Promise<Found> {
  const { reader, scope, request } = search
  const [middle] = await reader.get<LogDocument>(scope, [id])
  if (middle === undefined) return { hits: [], next: null }
  const after = { value: middle.timeNs, id: middle.id }
  const side = (direction: 'asc' | 'desc', limit: number): Promise<readonly Hit<LogDocument>[]> =>
    findByTime(search, { direction, after, limit: limit + 1 })
  const limits = { desc: request.before ?? 0, asc: request.afterCount ?? 0 }
  const opposite = request.order === 'asc' ? 'desc' : 'asc'
  const [ahead, behind] = await askInOrder(reader, [
    () => side(request.order, limits[request.order]),
    () => side(opposite, limits[opposite]),
  ])
  const { hits, next } = cut(ahead, limits[request.order])
  const shown = [...behind.slice(0, limits[opposite]).reverse(), middle, ...hits]
  return { hits: shown, next: ahead.length > 0 && next === null && hits.length === 0 ? placeOf(middle) : next }
}

async function histogramOf(reader: IndexReader, counted: Counted, steps: Steps): Promise<LogHistogram> {
  const { stepMs, buckets } = await countOverTime(reader, { ...counted, by: 'level' }, steps)
  return {
    step_ms: stepMs,
    buckets: buckets.map(({ time, total, by, ...later }) => ({ time, total, by_level: by, ...later })),
  }
}

type Included = Pick<LogPage, 'histogram' | 'facets' | 'count'>

async function included(
  { reader, ...counted }: Counted & Readonly<{ reader: IndexReader }>,
  steps: Steps | undefined,
  include: LogRequest['include'] = [],
): Promise<Included> {
  const { scope, selection } = counted
  const [histogram, facets, count] = await Promise.all([
    steps === undefined ? undefined : histogramOf(reader, counted, steps),
    include.includes('facets') ? reader.facets(scope, selection, facetFields, facetValuesMax) : undefined,
    include.includes('count') ? reader.count(scope, selection) : undefined,
  ])
  return {
    ...(histogram === undefined ? {} : { histogram }),
    ...(facets === undefined ? {} : { facets }),
    ...(count === undefined ? {} : { count }),
  }
}
