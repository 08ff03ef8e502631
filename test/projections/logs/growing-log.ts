import { buildName } from '#projections/rosters/build-name.ts'
import { logsProjection } from '#projections/logs/fold.ts'
import { searchLogs, type LogItem, type LogRequest } from '#projections/logs/query.ts'
import type { DecodedEvent } from '#projections/projection.ts'
import { createMemoryIndexStore, type MemoryIndexStore } from '#projections/stores/memory/store.ts'
import { parseJson, stringifyJson, type Json } from '#src/lib/json.ts'
import { foldInto, showIndex } from '#test/support/fold-harness.ts'
import { acme, givenLogs } from './given.ts'

export const messagesOf = (logs: readonly LogItem[]): string[] => logs.map(({ message }) => message)
export const search = (store: Pick<MemoryIndexStore, 'reader'>, request: Partial<LogRequest> = {}) =>
  searchLogs(store.reader, acme, { order: 'desc', limit: 100, ...request })
/** As a cursor carries a key: through its text. */
export const carried = (key: Json): Json => parseJson(stringifyJson(key))

/** A log that goes on: events folded as they come, with the heartbeat that readers go by. */
export function createGrowingLog() {
  const store = createMemoryIndexStore()
  const index = buildName(logsProjection, 1)
  return {
    store,
    async append(event: DecodedEvent): Promise<void> {
      await foldInto(store.writer, index, logsProjection, [[event]])
      await showIndex(store.writer, index, logsProjection, [event])
    },
  }
}

export const numbered = (n: number, from: number, count: number): DecodedEvent =>
  givenLogs(
    n,
    Array.from({ length: count }, (_, index) => ({ message: `line ${from + index}`, atMs: from + index })),
  )
