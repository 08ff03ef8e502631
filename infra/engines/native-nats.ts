import { spawnSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { bringOnce } from '../launch/cache.ts'
import { findGo } from '../launch/go.ts'
import type { Engine } from './engine.ts'
import { onFreePorts } from './free-ports.ts'
import { startNative } from './native-engine.ts'

const configuration = join(import.meta.dirname, '..')
const source = join(import.meta.dirname, 'nats-server')
const user = 'throughline'

/** The program `nats-server`, built once from what nats-server/go.mod and go.sum pin: Go compares each module's digest. */
export function bringNats(): Promise<string> {
  const pins = createHash('sha256')
  for (const file of ['go.mod', 'go.sum']) pins.update(readFileSync(join(source, file)))
  return bringOnce(`nats-server-${pins.digest('hex').slice(0, 16)}`, async (making) => {
    const go = findGo()
    if (go === undefined) throw new Error('The NATS server is built with Go 1.21 or later, which is not on PATH.')
    console.error('Building the NATS server (once) …')
    const build = ['build', '-trimpath', '-o', making, 'github.com/nats-io/nats-server/v2']
    const environment = { ...process.env, CGO_ENABLED: '0', GOFLAGS: '-mod=readonly', GOWORK: 'off' }
    const { status } = spawnSync(go, build, { cwd: source, env: environment, stdio: ['ignore', 2, 2] })
    if (status !== 0) throw new Error('The NATS server could not be built: see what Go says above.')
  })
}

/** Three ports for each node: for clients, for health, and for the other nodes. */
const portsOf = (ports: readonly number[], node: number): readonly number[] => ports.slice(3 * node, 3 * node + 3)

/** Begins with a letter: the configuration would take another for a number. */
const newPassword = (): string => `p${randomBytes(16).toString('hex')}`

async function startNodes(program: string, count: number, ports: readonly number[]): Promise<readonly Engine[]> {
  const password = newPassword()
  const nodes = Array.from({ length: count }, (_, node) => portsOf(ports, node))
  const routes = nodes.map(([, , route]) => `nats-route://${user}:${password}@127.0.0.1:${route}`)
  const starts = nodes.map(([port, monitor, route], node) =>
    startNative({
      name: `nats-${node}`,
      url: `nats://${user}:${password}@127.0.0.1:${port}`,
      probe: { url: `http://127.0.0.1:${monitor}/healthz` },
      launch: (folder) => ({
        command: program,
        args: ['--config', join(configuration, count === 1 ? 'nats.conf' : 'nats-cluster.conf')],
        environment: {
          NATS_NAME: `node-${node}`,
          NATS_HOST: '127.0.0.1',
          NATS_PORT: String(port),
          NATS_MONITOR: `127.0.0.1:${monitor}`,
          NATS_USER: user,
          NATS_PASSWORD: password,
          NATS_STORE: join(folder, 'store'),
          // Many tests make many streams, and each reserves what it may grow to.
          NATS_STORE_BYTES: '1TB',
          NATS_ROUTE_PORT: String(route),
          NATS_ROUTE_USER: user,
          NATS_ROUTE_PASSWORD: password,
          NATS_ROUTES: `[${routes.join(', ')}]`,
        },
      }),
    }),
  )
  const outcomes = await Promise.allSettled(starts)
  const failure = outcomes.find((outcome) => outcome.status === 'rejected')
  const started = outcomes.filter((outcome) => outcome.status === 'fulfilled').map(({ value }) => value)
  if (failure === undefined) return started
  await Promise.all(started.map((node) => node.remove()))
  throw failure.reason
}

/** One NATS server with JetStream, as infra/nats.conf says; or several, which hold replicas together as infra/nats-cluster.conf says. */
export async function startNativeNats(count: number): Promise<readonly Engine[]> {
  const program = await bringNats()
  return onFreePorts(3 * count, (ports) => startNodes(program, count, ports))
}
