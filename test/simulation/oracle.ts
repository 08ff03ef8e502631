import { buildName } from '#projections/rosters/build-name.ts'
import { createDocumentCache } from '#projections/folding/documents.ts'
import { foldBatch } from '#projections/folding/fold-batch.ts'
import { readUsage } from '#projections/allowance/query.ts'
import type { BuildContext } from '#projections/builds/build-place.ts'
import type { IndexName, IndexReader } from '#projections/index-store.ts'
import { collectionsOf, type Projection } from '#projections/projection.ts'
import { withSeenEvents } from '#projections/folding/seen-events.ts'
import { createMemoryIndexStore, inOrder, type Dump, type MemoryIndexStore } from '#projections/stores/memory/store.ts'
import { liveBuilds, verify } from '#projections/builds/verify.ts'
import { ledgerAfter, ledgerSubject, monthOf, type Month } from '#src/events/allowance.ts'
import type { RecordedEvent } from '#src/events/envelope.ts'
import { workspaceIdOf, type WorkspaceId } from '#src/events/workspace-id.ts'
import { stringifyJson, type JsonObject } from '#src/lib/json.ts'
import { messageOf, type LogDocument } from '#projections/logs/log-document.ts'
import { isStored, type SpanDocument } from '#projections/traces/span-document.ts'
import type { Stream } from '#streams/stream.ts'
import { workspaces } from './requests.ts'
import type { Sent } from './senders.ts'
import { decode, type Stage } from './stage.ts'
import { countNames, faultsOf } from './watcher.ts'
import { liveOf, promote } from '#test/support/promote.ts'

async function readAll(log: Stream): Promise<readonly RecordedEvent[]> {
  const events: RecordedEvent[] = []
  for (;;) {
    const read = await log.read(events.at(-1)?.position ?? 0, 1_000)
    if (read.length === 0) return events
    events.push(...read)
  }
}

/** `fold(log)`: everything at once, from nothing, in memory. */
async function foldLog(log: Stream, projections: readonly Projection[]): Promise<MemoryIndexStore> {
  const store = createMemoryIndexStore()
  const events = (await readAll(log)).map(decode)
  for (const projection of projections) {
    const complete = withSeenEvents(projection)
    const index = buildName(projection, 1)
    await store.writer.open(index, complete, log.epoch)
    const cache = createDocumentCache({ cachedDocumentsMax: 1e6, cachedBytesMax: 1e9 })
    await foldBatch(complete, events, cache, (keys) => store.writer.load(index, keys))
    await store.writer.write(index, cache.takeChanged(), { epoch: log.epoch, position: await log.head() })
    await promote(store.writer, projection.name, index)
  }
  return store
}

/** Each entry in one line, whatever order a store gives its properties. */
const linesOf = (dump: Dump): readonly string[] =>
  dump.map(({ workspaceId, entry: { collection, day, id, position, created, document } }) =>
    stringifyJson([workspaceId, collection, day, id, position, created ?? null, document as JsonObject]),
  )

/** What a build holds as it is read whole, in the order of a dump. */
async function readWhole({ index }: Stage, build: IndexName, projection: Projection): Promise<Dump> {
  const audit = index.audit()
  const dump: Dump[number][] = []
  for (const part of await audit.parts(build)) {
    const frozen = await audit.freeze(build, part)
    for (const { name } of collectionsOf(withSeenEvents(projection)))
      for await (const entry of frozen.entries(name)) dump.push({ workspaceId: part.workspaceId, entry })
    await frozen.release()
  }
  await audit.close()
  return inOrder(dump)
}

/** The first thing that two dumps do not have alike. */
function firstDifference(indexed: Dump, expected: Dump): string | undefined {
  const [ours, theirs] = [linesOf(indexed), linesOf(expected)]
  const at = Array.from({ length: Math.max(ours.length, theirs.length) }, (_, n) => n).find(
    (n) => ours[n] !== theirs[n],
  )
  return at === undefined ? undefined : `indexed ${ours[at]}\nexpected ${theirs[at]}`
}

/** Every build that readers use is what the fold of the log is, byte for byte. */
export async function compareWithFold(stage: Stage): Promise<void> {
  const { log, projections, violate, index } = stage
  const oracle = await foldLog(log, projections)
  const writer = index.open(async () => {})
  for (const projection of projections) {
    const live = (await liveOf(writer, projection.name)) ?? ''
    const dump = index.dump?.(live) ?? (await readWhole(stage, live, projection))
    const difference = firstDifference(dump, oracle.dump(buildName(projection, 1)))
    if (difference !== undefined) violate(`${live} is not the fold of the log: ${difference}`)
  }
}

export async function compareByVerify({ projections, violate }: Stage, context: BuildContext): Promise<void> {
  const names = projections.map(({ name }) => name)
  for (const { index, equal, differences } of await verify(context, await liveBuilds(context, names))) {
    if (!equal) violate(`verify says that ${index} is different: ${stringifyJson(differences[0] ?? null)}`)
  }
}

async function namesIn(reader: IndexReader, projection: string, collection: string, workspace: string) {
  const scope = { workspaceId: workspaceIdOf(workspace), projection, collection }
  const query = { filter: { kind: 'all' }, orderBy: 'timeNs', direction: 'asc', limit: 100_000 } as const
  const hits = await reader.search<LogDocument | SpanDocument>(scope, query)
  return hits.map(({ document }) => ('fields' in document ? messageOf(document) : document.spanId))
}

/** A workspace that was erased is in no log, in no index that readers use, and in no other build that is folded. */
export async function findNothingOf(
  { index, log, projections, violate }: Stage,
  workspaceId: WorkspaceId,
): Promise<void> {
  if (await log.isLeft(workspaceId)) violate(`the log still holds something of ${workspaceId}`)
  const names = [
    ...(await namesIn(index.reader, 'traces', 'spans', workspaceId)),
    ...(await namesIn(index.reader, 'logs', 'logs', workspaceId)),
  ]
  if (names.length > 0) violate(`readers still find ${names.join(', ')} of ${workspaceId}`)
  const writer = index.open(async () => {})
  for (const projection of projections) {
    const { live, followed } = await writer.roster(projection.name)
    const folded = followed.filter(({ as }) => as === 'candidate' || as === 'kept').map((build) => build.index)
    for (const build of [...(live === undefined ? [] : [live]), ...folded]) {
      const parts = await index.audit().parts(build)
      if (parts.some((part) => part.workspaceId === workspaceId))
        violate(`${build} still holds a part of ${workspaceId}`)
    }
  }
}

/** What is counted and held of a workspace's spans in the months that were. */
async function sumMonths({ index, log, world }: Stage, workspaceId: WorkspaceId) {
  const sumOf = async (month: Month) => {
    const { spans, total } = await readUsage(index.reader, workspaceId, month)
    const { spent, open } = ledgerAfter(await log.last(ledgerSubject(workspaceId, month)), log.epoch)
    return { used: spans, refused: total.refusedSpans, spent, open: open.length }
  }
  const now = await sumOf(monthOf(world.now()))
  if (monthOf(world.startsAt) === monthOf(world.now())) return now
  const before = await sumOf(monthOf(world.startsAt))
  // What dead processes have left of a month that is over is of no use to anybody, and is left there.
  const spent = before.open > 0 ? Infinity : before.spent + now.spent
  return { used: before.used + now.used, refused: before.refused + now.refused, spent, open: now.open }
}

/** What senders were told is there, once, and the counts are those of what is there. */
export async function compareWithTold(
  stage: Stage,
  sent: ReadonlyMap<string, Sent>,
  spansPerMonth: number,
): Promise<void> {
  const { index, violate } = stage
  for (const workspace of workspaces) {
    const spans = await namesIn(index.reader, 'traces', 'spans', workspace)
    const logs = await namesIn(index.reader, 'logs', 'logs', workspace)
    const mine = [...sent.values()].filter(({ request }) => request.workspace === workspace)
    for (const fault of faultsOf(countNames([...spans, ...logs]), mine, Infinity)) violate(`in the end ${fault}`)
    const ofSpans = mine.filter(({ request }) => request.kind === 'spans')
    const told = ofSpans.reduce((sum, one) => sum + (one.told?.accepted ?? 0), 0)
    const demand = ofSpans.reduce((sum, { request }) => sum + request.records.length, 0)
    const scope = { workspaceId: workspaceIdOf(workspace), projection: 'traces', collection: 'spans' }
    const stored = await index.reader.count(scope, { filter: isStored })
    const { spent, ...months } = await sumMonths(stage, scope.workspaceId)
    const counted = { told, stored, ...months }
    const right = Math.min(demand, spansPerMonth)
    const expected = { told: right, stored: right, used: right, refused: demand - right, open: 0 }
    if (stringifyJson(counted) !== stringifyJson(expected)) {
      violate(`spans of ${workspace} are ${stringifyJson(counted)} and should be ${stringifyJson(expected)}`)
    }
    // The log may hold a request twice that is counted once.
    if (spent < right) violate(`the ledger of ${workspace} says ${spent} of ${right} spans`)
  }
}
