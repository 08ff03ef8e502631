import { limits } from '#src/config.ts'
import type { LogRecord } from '#src/events/telemetry.ts'
import type { QueryTree } from '#src/events/query-tree.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import { logsProjection } from '#projections/logs/fold.ts'
import { searchLogs } from '#projections/logs/query.ts'
import type { IndexReader } from '#projections/index-store.ts'
import { foldIntoStore, type NewStore } from '#test/projections/traces/every-store.ts'
import { parseQuery } from '#src/query/language/parse-query.ts'
import { givenEvent } from '#test/support/fold-harness.ts'

export const acme = workspaceIdOf('acme')
/** 2026-11-21T12:00:00Z. */
export const noonNs = 1_795_262_400_000_000_000n

/** A record of the service `checkout`, at noon and so many milliseconds. */
export function givenRecord(record: Partial<LogRecord> & Readonly<{ atMs?: number }>, ordinal = 0): LogRecord {
  const { atMs = 0, ...more } = record
  return {
    ordinal,
    timeNs: noonNs + BigInt(Math.round(atMs * 1e6)),
    level: null,
    message: '',
    service: null,
    traceId: null,
    spanId: null,
    sessionId: null,
    source: 'logs',
    fields: {},
    cuts: [],
    ...more,
  }
}

export const givenLogs = (
  n: number,
  records: readonly (Partial<LogRecord> & Readonly<{ atMs?: number }>)[],
  header = {},
) => givenEvent('logs.received', n, { logs: records.map((record, ordinal) => givenRecord(record, ordinal)) }, header)

export function treeOf(query: string): QueryTree {
  const parsed = parseQuery(query, limits)
  if (!parsed.ok) throw new Error(`${query}: ${parsed.error.detail}`)
  return parsed.value.tree
}

/** A reader of one record for each, told apart by their times: the n-th is n milliseconds after noon. */
export async function readerOf(newStore: NewStore, records: readonly Partial<LogRecord>[]): Promise<IndexReader> {
  const store = newStore()
  const placed = records.map((record, index) => ({ ...record, atMs: index }))
  await foldIntoStore(store, logsProjection, [givenLogs(1, placed)])
  return store.reader
}

/** The places in `readerOf` of the records that a query finds, in order. */
export async function found(reader: IndexReader, query: string): Promise<number[]> {
  const page = await searchLogs(reader, acme, { order: 'asc', limit: 1_000, query: treeOf(query) })
  return page.logs.map(({ timestamp }) => Number(timestamp.slice(20, 23)))
}
