import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { DemoError } from './demo-error.ts'
import type { ParentMessage } from './services/service.ts'
import type { Made } from './services/telemetry.ts'
import type { Target } from './target.ts'

export const services = ['web', 'orders', 'payments'] as const
export type ServiceName = (typeof services)[number]

/** The running shop: three services, each a process of its own. */
export type Shop = Readonly<{
  /** Where shoppers go. */
  url: string
  /** Lets each service send what it still holds, and ends it; what each has made. */
  stop(): Promise<Readonly<Record<ServiceName, Made>>>
}>

type Started = Readonly<{ child: ChildProcess; port: number }>

/** Whoever tries this may have set up a program of their own in the same shell, which sends elsewhere, or nothing. */
const withoutOtelSettings = (given: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(given).filter(([name]) => !name.startsWith('OTEL_')))

const env = ({ baseUrl, tracesToken, logsToken, rumKey }: Target, port: number): NodeJS.ProcessEnv => ({
  ...withoutOtelSettings(process.env),
  // The README's settings for any OpenTelemetry SDK; metrics and logs by OTLP are not taken.
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${baseUrl}/api/traces/v1/otlp`,
  OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/protobuf',
  OTEL_EXPORTER_OTLP_TRACES_HEADERS: `Authorization=Bearer%20${tracesToken}`,
  OTEL_METRICS_EXPORTER: 'none',
  OTEL_LOGS_EXPORTER: 'none',
  OTEL_LOG_LEVEL: 'warn',
  LOGS_URL: `${baseUrl}/api/logs/v1/ingest`,
  LOGS_TOKEN: logsToken,
  RUM_URL: `${baseUrl}/api/rum/v1/ingest`,
  RUM_KEY: rumKey,
  SHOP_PORT: String(port),
})

/** The next message of a service; fails when the service ends instead. */
async function messageOf<Message>(name: ServiceName, child: ChildProcess): Promise<Message> {
  const ended = new AbortController()
  const message = once(child, 'message', { signal: ended.signal }) as Promise<[Message]>
  child.once('exit', () => ended.abort())
  const [first] = await message.catch(() => {
    throw new DemoError(`The service ${name} ended (${child.exitCode ?? child.signalCode}); see above.`)
  })
  return first
}

async function start(name: ServiceName, target: Target, port: number): Promise<Started> {
  const child = fork(join(import.meta.dirname, 'services', `${name}.ts`), { env: env(target, port) })
  const { port: taken } = await messageOf<{ port: number }>(name, child)
  return { child, port: taken }
}

async function stop(name: ServiceName, { child }: Started): Promise<Made> {
  const gone = once(child, 'exit')
  child.send('stop' satisfies ParentMessage)
  const { made } = await messageOf<{ made: Made }>(name, child)
  await gone
  return made
}

/** Starts the services and tells each where the others are; the page is served on `port` (0: any free one). */
export async function startShop(target: Target, port: number): Promise<Shop> {
  const [web, orders, payments] = await Promise.all([
    start('web', target, port),
    start('orders', target, 0),
    start('payments', target, 0),
  ])
  const url = (service: Started): string => `http://127.0.0.1:${service.port}`
  const peers = { orders: url(orders), payments: url(payments) }
  for (const { child } of [web, orders, payments]) child.send({ peers } satisfies ParentMessage)
  return {
    url: url(web),
    // From the outside in: who calls is done before who is called.
    stop: async () => ({
      web: await stop('web', web),
      orders: await stop('orders', orders),
      payments: await stop('payments', payments),
    }),
  }
}
