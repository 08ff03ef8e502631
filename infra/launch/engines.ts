import { bringElasticsearch } from '../engines/native-elasticsearch.ts'
import { bringNats } from '../engines/native-nats.ts'
import { provider } from '../engines/provider.ts'
import { bringGo } from '../machine/go.ts'
import { bringJava } from '../machine/java.ts'

/** Brings what the engines of tests are made of, so that no test waits for a download. They are started by the tests that want them. */
export async function bringEngines(): Promise<void> {
  if ((await provider()) === 'docker') return
  bringJava()
  await Promise.all([bringNats(bringGo), bringElasticsearch()])
}

/** Addresses that are given go to the tests by other names, so that the servers which tests start do not find them. */
export function keepAddressesForTests(): void {
  for (const name of ['NATS_URL', 'ELASTICSEARCH_URL']) {
    const given = process.env[name]
    if (given !== undefined) process.env[`TEST_${name}`] = given
  }
}
