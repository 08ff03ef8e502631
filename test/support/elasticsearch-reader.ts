import {
  createElasticsearchIndexReaders,
  type ElasticsearchIndexReader,
} from '#projections/stores/elasticsearch/reader.ts'
import { present } from '#src/lib/assert.ts'

type Options = Parameters<typeof createElasticsearchIndexReaders>[0] & Readonly<{ partition: number }>

/** The reading side in Elasticsearch, for one partition. */
export const createElasticsearchIndexReader = ({ partition, ...options }: Options): ElasticsearchIndexReader =>
  present(createElasticsearchIndexReaders(options, [partition])[0], 'there is one for each partition')
