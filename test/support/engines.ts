import { startElasticsearch } from '../../infra/engines/elasticsearch.ts'
import { startNats } from '../../infra/engines/nats.ts'

// One NATS server and one Elasticsearch for the whole process, brought when the first test asks for them and gone with the process.
// Each test keeps to itself by names of its own: streams, subjects, a prefix of indices. A test that stops or kills an engine starts
// one of its own with `startNats`, `startNatsCluster` or `startElasticsearch`.

/** `TEST_NATS_URL` and `TEST_ELASTICSEARCH_URL` are what `npm test` makes of addresses that were given to it. */
const given = (name: string): string | undefined => process.env[`TEST_${name}`] ?? process.env[name]

const once = (bring: () => Promise<string>): (() => Promise<string>) => {
  let brought: Promise<string> | undefined
  return () => (brought ??= bring())
}

/** The address of the NATS server that tests share. Takes a second, or a minute where it is built first. */
export const natsEngine = once(async () => given('NATS_URL') ?? (await startNats()).url)

/** What is done for an hour has another engine than what is done for minutes. */
const elasticsearchOptions = process.env['SOAK'] === '1' ? { heap: '2g' } : { isBrief: true }

/** The address of the Elasticsearch that tests share. Takes some 15 seconds, or a minute where it is downloaded first. */
export const elasticsearchEngine = once(
  async () => given('ELASTICSEARCH_URL') ?? (await startElasticsearch(elasticsearchOptions)).url,
)

export type Engines = Readonly<{ natsUrl: string; elasticsearchUrl: string }>

/** Both. Call it in a `before` with a timeout of its own: `this.timeout(enginesTimeoutMs)`. */
export async function engines(): Promise<Engines> {
  const [natsUrl, elasticsearchUrl] = await Promise.all([natsEngine(), elasticsearchEngine()])
  return { natsUrl, elasticsearchUrl }
}

export const enginesTimeoutMs = 600_000
