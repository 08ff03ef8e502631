import { join } from 'node:path'
import type { Engine } from '../../infra/engines/engine.ts'
import { startJaeger } from '../../infra/engines/jaeger.ts'
import { startVictoriaLogs } from '../../infra/engines/victoria-logs.ts'
import { present } from '#src/lib/assert.ts'
import { BenchFailure, type Kind } from './bench-client.ts'
import { bytesIn, withServer, type Sizes } from './bench-server.ts'
import { bodyCount, type Bodies } from './bodies.ts'
import type { Driver } from './drive.ts'
import type { DriverAnswer } from './driver-task.ts'
import { connections } from './search.ts'
import { tidyDays } from './tidy-days.ts'

/** A program that takes records of one kind in and answers searches: ours, or a peer. */
export type Program = Readonly<{
  /** The process that, with all it has started, is the program. */
  pid: number
  baseUrl: string
  cookie: string
  /** Posts bodies, the first `to` of them, each of which must be taken. */
  post(driver: Driver, bodies: Bodies, to?: number): Promise<DriverAnswer>
  /** Stops it; bytes that it has left on the disk, and `laterBytes` once the day is over, if these are fewer. */
  stop(): Promise<Readonly<{ bytes: number; index?: number; laterBytes?: number }>>
}>
/** Runs `work` with a program of its own, which is gone afterwards whatever happens. */
export type WithProgram = <T>(work: (program: Program) => Promise<T>) => Promise<T>

/** Throughline's embedded form. */
export const withOurs =
  (kind: Kind): WithProgram =>
  (work) =>
    withServer((server) =>
      work({
        pid: server.server.process.pid ?? 0,
        baseUrl: server.baseUrl,
        cookie: server.cookie,
        post: (driver, bodies, to = bodyCount(bodies)) => server.post(driver, kind, { bodies, connections, to }),
        async stop() {
          const { log, index }: Sizes = await server.stop()
          const indexes = join(server.server.dataFolder, 'index')
          tidyDays(indexes)
          return { bytes: log + index, index, laterBytes: log + bytesIn(indexes) }
        },
      }),
    )

/** Nothing, or a message without fields. */
const taken = /^200 ·?$/

/** Neither of them says more than that it has taken a body. */
async function postTo(
  url: string,
  driver: Driver,
  { file, offsets, headers }: Bodies,
  to: number,
): Promise<DriverAnswer> {
  const task = { kind: 'load', url, keys: ['none'], headers, file, offsets, connections, from: 0, to } as const
  const answer = await driver.run(task)
  for (const [text, count] of answer.answers) {
    if (!taken.test(text)) throw new BenchFailure(`${count} requests to ${url} were answered ${text}`)
  }
  return answer
}

type Peer = Readonly<{ engine: Engine; store: string; ingestUrl: string }>

async function withPeer<T>({ engine, store, ingestUrl }: Peer, work: (program: Program) => Promise<T>): Promise<T> {
  try {
    return await work({
      pid: present(engine.group(), 'it runs'),
      baseUrl: engine.url,
      cookie: 'none=0',
      post: (driver, bodies, to = bodyCount(bodies)) => postTo(ingestUrl, driver, bodies, to),
      async stop() {
        await engine.stop()
        return { bytes: bytesIn(store) }
      },
    })
  } finally {
    await engine.remove()
  }
}

/** Its JSON stream API; a service's lines are a log stream. */
const linesPath = '/insert/jsonline?_stream_fields=service&_time_field=timestamp&_msg_field=message'

export const withVictoriaLogs =
  (folder: string): WithProgram =>
  async (work) => {
    const store = join(folder, 'victoria-logs')
    const engine = await startVictoriaLogs(store)
    return withPeer({ engine, store, ingestUrl: engine.url + linesPath }, work)
  }

export const withJaeger =
  (folder: string, { isSynced = false } = {}): WithProgram =>
  async (work) => {
    const store = join(folder, isSynced ? 'jaeger-synced' : 'jaeger')
    const engine = await startJaeger(store, { isSynced })
    return withPeer({ engine, store, ingestUrl: `${engine.otlpUrl}/v1/traces` }, work)
  }
