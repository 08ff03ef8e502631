import { startElasticsearch } from './elasticsearch.ts'
import { startNats } from './nats.ts'

/** What is done for an hour has another engine than what is done for minutes. Each serves all processes of a run. */
const elasticsearchOptions = () => (process.env['SOAK'] === '1' ? { heap: '2g' } : { heap: '768m', isBrief: true })

/** Starts what tests share, whoever is asked for it first; the address. */
export const bringEngine = {
  nats: async (): Promise<string> => (await startNats()).url,
  elasticsearch: async (): Promise<string> => (await startElasticsearch(elasticsearchOptions())).url,
}
