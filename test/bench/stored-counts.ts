import { connectLogs, openLog, partitionNames } from '#src/compose/cluster-logs.ts'
import { readCurrent } from '#streams/follow.ts'
import type { Kind } from './bench-client.ts'
import type { Cluster } from './cluster-form.ts'

const eventsAtOnce = 512

/** Spans or logs that the logs of a cluster hold, as the headers of their events say. Needs no index. */
export async function storedRecords({ config }: Cluster, kind: Kind): Promise<number> {
  const nats = await connectLogs(config, 'bench')
  let records = 0
  for (const partition of partitionNames(config)) {
    const log = await openLog(nats, config, partition)
    for (let position = 0; ;) {
      const events = await readCurrent(log, position, eventsAtOnce)
      for (const { counts } of events) records += kind === 'traces' ? counts.spans : counts.logs
      const last = events.at(-1)
      if (last === undefined) break
      position = last.position
    }
    await log.close()
  }
  await nats.close()
  return records
}
