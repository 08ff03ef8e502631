import { untilSignalled } from '../machine/until-signalled.ts'
import { startElasticsearch } from './elasticsearch.ts'
import { startNats } from './nats.ts'

// `node infra/launch/launch.mjs infra/engines/run.ts`: a NATS server and an Elasticsearch until Ctrl-C; prints what our configuration must know of them.
try {
  const [nats, elasticsearch] = await Promise.all([startNats(), startElasticsearch()])
  console.log(`NATS_URL=${nats.url}`)
  console.log('NATS_SYNC_ALWAYS=1')
  console.log(`ELASTICSEARCH_URL=${elasticsearch.url}`)
  // The engines do not keep a process alive; a pending timer does.
  const awake = setInterval(() => undefined, 1 << 30)
  await untilSignalled()
  clearInterval(awake)
  await Promise.all([nats.remove(), elasticsearch.remove()])
} catch (failure) {
  console.error(failure instanceof Error ? failure.message : failure)
  process.exit(1)
}
