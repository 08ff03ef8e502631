import { borrowEngine } from '../../infra/engines/lend.ts'
import { bringEngine } from '../../infra/engines/test-engines.ts'

// One NATS server and one Elasticsearch for the whole run of tests, brought when the first test asks for them and gone with the run: `npm
// test` lends them to its processes, and a mocha that somebody starts alone brings its own.
// Each test keeps to itself by names of its own: streams, subjects, a prefix of indices. A test that stops or kills an engine starts
// one of its own with `startNats`, `startNatsCluster` or `startElasticsearch`.

/** `TEST_NATS_URL` and `TEST_ELASTICSEARCH_URL` are what `npm test` makes of addresses that were given to it. */
const given = (name: string): string | undefined => process.env[`TEST_${name}`] ?? process.env[name]

const once = (bring: () => Promise<string>): (() => Promise<string>) => {
  let brought: Promise<string> | undefined
  return () => (brought ??= bring())
}

/** The address of the NATS server that tests share. Takes a second, or a minute where it is built first. */
export const natsEngine = once(async () => given('NATS_URL') ?? (await borrowEngine('nats')) ?? bringEngine.nats())

/** The address of the Elasticsearch that tests share. Takes some 15 seconds, or a minute where it is downloaded first. */
export const elasticsearchEngine = once(
  async () => given('ELASTICSEARCH_URL') ?? (await borrowEngine('elasticsearch')) ?? bringEngine.elasticsearch(),
)

export type Engines = Readonly<{ natsUrl: string; elasticsearchUrl: string }>

/** Both. Call it in a `before` with a timeout of its own: `this.timeout(enginesTimeoutMs)`. */
export async function engines(): Promise<Engines> {
  const [natsUrl, elasticsearchUrl] = await Promise.all([natsEngine(), elasticsearchEngine()])
  return { natsUrl, elasticsearchUrl }
}

export const enginesTimeoutMs = 600_000
