import { monthEnd, monthOf } from '#src/events/allowance.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import type { IndexReader, Progress, Scope } from '../index-store.ts'
import { all, is } from '../reading/filters.ts'
import { keyUseCollection, type KeyUse } from './key-use.ts'
import {
  dayStartNs,
  daysOfMonthMax,
  refusalCollection,
  sumUsage,
  usageCollection,
  type RefusalDocument,
  type UsageOfDay,
  type UsageOfMonth,
} from './usage-document.ts'

export { monthOf } from '#src/events/allowance.ts'
export { serviceCharactersMax, servicesMax } from './usage-document.ts'
export type { RefusalDocument } from './usage-document.ts'
export type { FirstRecord, KeyUse } from './key-use.ts'

/** What a workspace has used in a month (`2026-11`, UTC), and when the next month begins (ms since the Unix epoch). */
export type Usage = UsageOfMonth &
  Readonly<{
    /** Accepted spans, which count against the allowance. */
    spans: number
    resetsAt: number
    /** The index's progress; undefined before the first build. */
    progress: Progress | undefined
  }>

const scopeOf = (workspaceId: WorkspaceId, collection: string): Scope => ({
  workspaceId,
  projection: 'allowance',
  collection,
})

async function readDays(reader: IndexReader, workspaceId: WorkspaceId, month: string): Promise<readonly UsageOfDay[]> {
  const hits = await reader.search<UsageOfDay>(scopeOf(workspaceId, usageCollection.name), {
    filter: is('month', month),
    orderBy: 'timeNs',
    direction: 'asc',
    limit: daysOfMonthMax,
  })
  return hits.map(({ document }) => document)
}

export async function readUsage(reader: IndexReader, workspaceId: WorkspaceId, month: string): Promise<Usage> {
  const progress = await reader.progress('allowance')
  const sum = sumUsage(month, await readDays(reader, workspaceId, month))
  return { ...sum, spans: sum.total.spans, resetsAt: monthEnd(month), progress }
}

/** The usage of the month that a time (ms) falls in. */
export const readUsageAt = (reader: IndexReader, workspaceId: WorkspaceId, at: number): Promise<Usage> =>
  readUsage(reader, workspaceId, monthOf(at))

export const refusalsMax = 1_000

/** What was refused between two days (`2026-11-21`, inclusive), the newest day first; at most `refusalsMax` lines. */
export async function readRefusals(
  reader: IndexReader,
  workspaceId: WorkspaceId,
  days: Readonly<{ from: string; to: string }>,
): Promise<readonly RefusalDocument[]> {
  const hits = await reader.search<RefusalDocument>(scopeOf(workspaceId, refusalCollection.name), {
    filter: all,
    fromNs: dayStartNs(days.from),
    toNs: dayStartNs(days.to) + 1n,
    orderBy: 'timeNs',
    direction: 'desc',
    limit: refusalsMax,
  })
  return hits.map(({ document }) => document)
}

/** The use of keys, by key id; without keys that have written nothing. */
export async function readKeyUse(
  reader: IndexReader,
  workspaceId: WorkspaceId,
  keyIds: readonly string[],
): Promise<ReadonlyMap<string, KeyUse>> {
  const hits = await reader.get<KeyUse>(scopeOf(workspaceId, keyUseCollection.name), keyIds)
  return new Map(hits.map(({ id, document }) => [id, document]))
}
