import { randomBytes } from 'node:crypto'
import { afterEach, before, beforeEach } from 'mocha'
import type { IndexReader, IndexWriter } from '#projections/index-store.ts'
import { createElasticsearchIndexReader } from './elasticsearch-reader.ts'
import { createElasticsearchIndexWriter } from '#projections/stores/elasticsearch/writer.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import { removeIndices } from './elasticsearch.ts'
import { elasticsearchEngine, enginesTimeoutMs } from './engines.ts'
import { acme, day, epoch, everything, fixture, index, scopeOf } from './index-fixture.ts'
import { limits } from '#test/support/sqlite-fixture.ts'

type Options = Partial<Parameters<typeof createElasticsearchIndexWriter>[0]>
type Open = Readonly<{ close(): Promise<void> }>

/** Writers and readers of the fixture in the Elasticsearch of the tests, in an installation of its own for each test. */
export function useElasticsearchStores() {
  let url = ''
  let prefix = ''
  let open: Open[] = []

  before(async function () {
    this.timeout(enginesTimeoutMs)
    url = await elasticsearchEngine()
  })
  beforeEach(() => {
    prefix = `test-${randomBytes(6).toString('hex')}`
  })
  afterEach(async () => {
    for (const each of open) await each.close()
    open = []
    await removeIndices(url, prefix)
  })

  const makeWriter = (options: Options = {}): IndexWriter => {
    const writer = createElasticsearchIndexWriter({ url, prefix, partition: 0, refreshEveryMs: 0, ...options })
    open.push(writer)
    return writer
  }
  return {
    url: () => url,
    prefix: () => prefix,
    makeWriter,
    openWriter: async (options: Options = {}): Promise<IndexWriter> => {
      const writer = makeWriter(options)
      await writer.open(index, fixture, epoch)
      return writer
    },
    makeReader: (partition = 0, address = url): IndexReader => {
      const reader = createElasticsearchIndexReader({ url: address, prefix, partition, limits })
      open.push(reader)
      return reader
    },
    /** Closes it after the test, behind what was opened before it. */
    closeLater: (it: Open): void => void open.push(it),
    count: (reader: IndexReader, collection = 'lines', workspaceId: WorkspaceId = acme): Promise<number> =>
      reader.count(scopeOf(collection, workspaceId), { filter: everything }),
    dayIndex: (collection: string, of = day): string => `${prefix}-${index}-${collection}-${of.replaceAll('-', '.')}`,
  }
}
