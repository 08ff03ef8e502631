import { limits } from '#src/config.ts'
import type { NewEvent, RecordedEvent } from '#src/events/envelope.ts'
import { partitionNumber } from '#src/events/partition.ts'
import type { CopiedLog } from '#streams/copy-log.ts'
import { connectNats } from '#streams/jetstream/connect.ts'
import type { Nats } from '#streams/jetstream/nats.ts'
import { openCopyTarget } from '#streams/jetstream/copy-target.ts'
import { provisionLogs } from '#streams/jetstream/provision.ts'
import { decodeMessage } from '#streams/jetstream/message.ts'
import { storedByLeader } from '#streams/jetstream/stored.ts'
import { logName } from '#streams/jetstream/subjects.ts'
import { openJetStream } from '#streams/jetstream/stream.ts'
import type { Stream } from '#streams/stream.ts'
import { askServer, newPrefix, removeLogs, testProvision } from './jetstream-log.ts'
import { makeLogFolder } from '../support/log-folder.ts'
import { noon } from '../support/make-event.ts'

export const partitions = 2
/** Ten minutes after the events of `makeEvent` were received. */
const now = noon + 600_000

/** A SQLite log with these events, one call each. */
export type SourceLog = Readonly<{ log: Stream; remove(): Promise<void> }>

export async function makeSource(events: readonly NewEvent[]): Promise<SourceLog> {
  const folder = await makeLogFolder()
  const log = await folder.open()
  await Promise.all(events.map((event) => log.append([event])))
  return {
    log,
    remove: async () => {
      await log.close()
      await folder.remove()
    },
  }
}

/** Streams of their own on a NATS server. */
export type TargetLogs = Readonly<{
  nats: Nats
  logs: readonly Stream[]
  /** How a log is copied there, over this connection or another. */
  copied(source: Stream, over?: Nats): Promise<CopiedLog>
  messages(): Promise<number>
  /** All messages as the server has them. */
  stored(): Promise<readonly Readonly<{ subject: string; events: readonly RecordedEvent[] }>[]>
  remove(): Promise<void>
}>

export async function makeTargets(url: string): Promise<TargetLogs> {
  const nats = await connectNats({ url, timeoutMs: 2_000 })
  const prefix = newPrefix()
  await provisionLogs(nats, { ...testProvision, partitions, prefix })
  const names = Array.from({ length: partitions }, (_, index) => String(index))
  const logs = await Promise.all(names.map((partition) => openJetStream(nats, { partition, prefix, limits })))
  const countOf = async (stream: string): Promise<number> => {
    const info = (await askServer(nats, `STREAM.INFO.${stream}`)) as { state: { messages: number } }
    return info.state.messages
  }
  const streams = names.map((partition) => logName(partition, prefix).stream)
  const messageAt = async (stream: string, seq: number) => {
    const answer = await askServer(nats, `STREAM.MSG.GET.${stream}`, { seq })
    const { subject, data } = storedByLeader(answer)
    return { subject, events: decodeMessage(data, seq, stream) }
  }
  return {
    nats,
    logs,
    copied: async (source, over = nats) => ({
      source,
      targets: await Promise.all(
        names.map(async (partition, index) => {
          const options = { partition, prefix, source: source.epoch, keepsPositions: false, clock: () => now }
          return { ...(await openCopyTarget(over, options)), partition, log: logs[index] as Stream }
        }),
      ),
      targetsOf: ({ workspaceId }) => [partitionNumber(workspaceId, partitions)],
      keepsPositions: false,
    }),
    messages: async () => {
      const counts = await Promise.all(streams.map(countOf))
      return counts.reduce((sum, count) => sum + count, 0)
    },
    stored: async () => {
      const messages = []
      for (const stream of streams) {
        const count = await countOf(stream)
        for (let seq = 1; seq <= count; seq++) messages.push(await messageAt(stream, seq))
      }
      return messages
    },
    remove: async () => {
      await Promise.all(logs.map((log) => log.close()))
      await removeLogs(nats, prefix, partitions)
      await nats.close()
    },
  }
}
