import { connectNats } from '#streams/jetstream/connect.ts'
import type { Nats } from '#streams/jetstream/nats.ts'
import { askApi } from '#streams/jetstream/api.ts'
import { configOf } from '#streams/jetstream/stream-config.ts'
import type { LogName } from '#streams/jetstream/subjects.ts'
import { BenchFailure } from './bench-client.ts'
import { bodyCount, openBodies, type Bodies } from './bodies.ts'
import type { Cluster } from './cluster-form.ts'

/** What one JetStream needs to take payloads in, a message each, synced before each ack. */
export type NatsLeast = Readonly<{
  /** CPU seconds of the server, and of who publishes, for a million records. */
  server: number
  publisher: number
  recordsPerSecond: number
  messagesPerSecond: number
  /** Milliseconds, sorted. */
  latencies: Float64Array
}>

const log: LogName = { stream: 'FLOOR', root: 'floor', partition: 'floor' }
const epoch = 'bench'

/** As a partition's: what is republished and kept for each subject costs the server something too. */
async function makeStream(nats: Nats): Promise<void> {
  const config = configOf(log, { epoch, partitions: 1, replicas: 1, bytesMax: 4 * 1024 ** 3 })
  const asked = await askApi(nats, `STREAM.CREATE.${log.stream}`, config)
  if ('error' in asked) throw new BenchFailure(`NATS makes no stream: ${asked.error.description}`)
}

/**
 * The floor of all that ends in NATS: the same bodies as they are, so many under way at once, on one connection. Without ids and
 * expectations, and faster than they come from senders, so that the server sleeps less between them.
 */
export async function floorOfPublishing(cluster: Cluster, bodies: Bodies, atOnce: number): Promise<NatsLeast> {
  const nats = await connectNats({ url: cluster.config.natsUrl, name: 'bench floor' })
  const reader = openBodies(bodies)
  const latencies = new Float64Array(bodyCount(bodies))
  const subject = `${log.root}.${epoch}.bodies`
  let next = 0
  const work = async (): Promise<void> => {
    while (next < latencies.length) {
      const index = next++
      const body = reader.read(index)
      const began = performance.now()
      const { data } = await nats.request(subject, body)
      latencies[index] = performance.now() - began
      if (Buffer.from(data).includes('"error"')) throw new BenchFailure(`NATS answered ${Buffer.from(data).toString()}`)
    }
  }
  try {
    await makeStream(nats)
    const before = process.cpuUsage()
    const { cost } = await cluster.measure(async () => {
      await Promise.all(Array.from({ length: atOnce }, work))
    })
    const { user, system } = process.cpuUsage(before)
    const perMillion = (seconds: number): number => (seconds * 1e6) / bodies.records
    return {
      server: perMillion(cost.cpu.nats),
      publisher: perMillion((user + system) / 1e6),
      recordsPerSecond: bodies.records / cost.seconds,
      messagesPerSecond: latencies.length / cost.seconds,
      latencies: latencies.sort(),
    }
  } finally {
    reader.close()
    await askApi(nats, `STREAM.DELETE.${log.stream}`)
    await nats.close()
  }
}
