import { limits } from '#src/config.ts'
import { connectNats } from '#streams/jetstream/connect.ts'
import { configOf } from '#streams/jetstream/stream-config.ts'
import { openJetStream } from '#streams/jetstream/stream.ts'
import { logName } from '#streams/jetstream/subjects.ts'
import { streamContract, type StreamUnderTest } from '#test/contracts/stream.ts'
import { enginesTimeoutMs, natsEngine } from '#test/support/engines.ts'
import { spoilMessages } from './jetstream-damage.ts'
import { askServer, newEpoch, newPrefix } from './jetstream-log.ts'

/** A log as it is provisioned, but for the right to delete: a message that is missing is part of the contract. */
async function create(): Promise<StreamUnderTest> {
  const connection = await connectNats({ url: await natsEngine() })
  const { nats, spoil } = spoilMessages(connection)
  const prefix = newPrefix()
  const log = logName('0', prefix)
  const wanted = { epoch: newEpoch(), partitions: 1, replicas: 1, bytesMax: 256 * 1024 * 1024 }
  await askServer(nats, `STREAM.CREATE.${log.stream}`, { ...configOf(log, wanted), deny_delete: false })
  return {
    open: () => openJetStream(nats, { partition: '0', prefix, limits }),
    damage: {
      payload: (index) => spoil(index + 1, 'payload'),
      header: (index) => spoil(index + 1, 'header'),
      row: async (index) => void (await askServer(nats, `STREAM.MSG.DELETE.${log.stream}`, { seq: index + 1 })),
    },
    cleanUp: async () => {
      await askServer(nats, `STREAM.DELETE.${log.stream}`)
      await nats.close()
    },
  }
}

describe('streams on JetStream', () => {
  before(async function () {
    this.timeout(enginesTimeoutMs)
    await natsEngine()
  })

  streamContract('jetstream', { durable: true, create })
})
