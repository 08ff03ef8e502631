import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createMemoryIndexStore } from '#projections/stores/memory/store.ts'
import { createSqliteQueryThreads } from '#projections/stores/sqlite/reading/query-threads.ts'
import { createSqliteIndexReader } from '#projections/stores/sqlite/reading/reader.ts'
import { createSqliteIndexWriter } from '#projections/stores/sqlite/writing/writer.ts'
import { indexStoreContract, type IndexStorePlace } from '#test/contracts/index-store.ts'
import { limits as fixtureLimits } from '#test/support/sqlite-fixture.ts'

indexStoreContract('memory', async () => {
  const store = createMemoryIndexStore()
  return { open: async () => store, remove: async () => {} }
})

/** Few files stay open, so that the tests meet their closing and opening. */
const limits = { ...fixtureLimits, indexFilesOpenMax: 2 }

async function folder(): Promise<string> {
  return await mkdtemp(join(tmpdir(), 'throughline-index-'))
}

indexStoreContract('sqlite', async (): Promise<IndexStorePlace> => {
  const path = await folder()
  return {
    open: async () => ({
      writer: createSqliteIndexWriter({ folder: path, limits }),
      reader: createSqliteIndexReader({ folder: path, limits }),
    }),
    remove: () => rm(path, { recursive: true }),
  }
})

indexStoreContract('sqlite, queried in threads', async (): Promise<IndexStorePlace> => {
  const path = await folder()
  return {
    open: async () => {
      const { readerFor, close } = createSqliteQueryThreads({ folder: path, limits }, 2)
      return { writer: createSqliteIndexWriter({ folder: path, limits }), reader: { ...readerFor('acme'), close } }
    },
    remove: () => rm(path, { recursive: true }),
  }
})
