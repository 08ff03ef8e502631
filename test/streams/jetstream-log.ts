import { randomBytes } from 'node:crypto'
import { limits } from '#src/config.ts'
import { connectNats } from '#streams/jetstream/connect.ts'
import type { Nats } from '#streams/jetstream/nats.ts'
import { provisionLogs, type ProvisionOptions } from '#streams/jetstream/provision.ts'
import { openJetStream } from '#streams/jetstream/stream.ts'
import type { Stream } from '#streams/stream.ts'
import { natsEngine } from '#test/support/engines.ts'

/** A log of one partition on the server that tests share, under a prefix of its own. */
export type JetStreamLog = Readonly<{
  nats: Nats
  prefix: string
  /** The stream that holds partition 0. */
  name: string
  open(): Promise<Stream>
  /** Asks JetStream's API. */
  ask(operation: string, body?: object): Promise<Record<string, unknown>>
  /** How many messages it holds. */
  messages(): Promise<number>
  remove(): Promise<void>
}>

/** What tests provision with, unless they say otherwise: streams are small, and there are many. */
export const testProvision: Omit<ProvisionOptions, 'prefix'> = {
  partitions: 1,
  replicas: 1,
  bytesMax: 256 * 1024 * 1024,
  proof: { stated: true },
  allowLazyLog: false,
}

export const newPrefix = (): string => `test-${randomBytes(6).toString('hex')}`

export async function askServer(nats: Nats, operation: string, body: object = {}): Promise<Record<string, unknown>> {
  const { data } = await nats.request(`$JS.API.${operation}`, JSON.stringify(body))
  return JSON.parse(Buffer.from(data).toString()) as Record<string, unknown>
}

export async function removeLogs(nats: Nats, prefix: string, partitions = 1): Promise<void> {
  const names = [...Array.from({ length: partitions }, (_, index) => `TELEMETRY_${index}`), 'DIRECTORY']
  for (const name of names) await askServer(nats, `STREAM.DELETE.${prefix}-${name}`)
}

export async function makeJetStreamLog(): Promise<JetStreamLog> {
  const nats = await connectNats({ url: await natsEngine() })
  const prefix = newPrefix()
  await provisionLogs(nats, { ...testProvision, prefix })
  const name = `${prefix}-TELEMETRY_0`
  return {
    nats,
    prefix,
    name,
    open: () => openJetStream(nats, { partition: '0', prefix, limits }),
    ask: (operation, body) => askServer(nats, operation, body),
    messages: async () => {
      const { state } = (await askServer(nats, `STREAM.INFO.${name}`)) as { state: { messages: number } }
      return state.messages
    },
    remove: async () => {
      await removeLogs(nats, prefix)
      await nats.close()
    },
  }
}

export const newEpoch = (): string => randomBytes(10).toString('hex')
