import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildName } from '#projections/rosters/build-name.ts'
import type { IndexReader, IndexWriter } from '#projections/index-store.ts'
import { correlationProjection } from '#projections/correlation/fold.ts'
import { logsProjection } from '#projections/logs/fold.ts'
import type { DecodedEvent, Projection } from '#projections/projection.ts'
import { createMemoryIndexStore } from '#projections/stores/memory/store.ts'
import { createSqliteIndexReader } from '#projections/stores/sqlite/reading/reader.ts'
import { createSqliteIndexWriter } from '#projections/stores/sqlite/writing/writer.ts'
import { tracesProjection } from '#projections/traces/fold.ts'
import { foldInto, showIndex } from '#test/support/fold-harness.ts'
import { limits } from '#test/support/sqlite-fixture.ts'

type TestStore = Readonly<{ writer: IndexWriter; reader: IndexReader }>
/** Makes stores with nothing in them; the suite's end closes and removes them. */
export type NewStore = () => TestStore

/** The same suite over every store that readers may meet. */
export function describeOnEveryStore(title: string, suite: (newStore: NewStore) => void): void {
  describe(`${title} (memory)`, () => suite(createMemoryIndexStore))
  describe(`${title} (SQLite)`, () => {
    const open: (() => Promise<void>)[] = []
    suite(() => {
      const folder = mkdtempSync(join(tmpdir(), 'throughline-traces-'))
      const writer = createSqliteIndexWriter({ folder, limits })
      const reader = createSqliteIndexReader({ folder, limits })
      open.push(async () => {
        await reader.close()
        await writer.close()
        rmSync(folder, { recursive: true })
      })
      return { writer, reader }
    })
    after(async () => {
      for (const close of open) await close()
    })
  })
}

/** Folds events into a store, in one batch, and lets readers see the index. */
export async function foldIntoStore(
  { writer }: TestStore,
  projection: Projection,
  events: readonly DecodedEvent[],
): Promise<void> {
  const index = buildName(projection, 1)
  await foldInto(writer, index, projection, [events])
  await showIndex(writer, index, projection, events)
}

/** Folds events into all the indexes that correlation reads; what reads them. */
export async function foldCorrelated(store: TestStore, events: readonly DecodedEvent[]): Promise<IndexReader> {
  for (const projection of [tracesProjection, logsProjection, correlationProjection])
    await foldIntoStore(store, projection, events)
  return store.reader
}
