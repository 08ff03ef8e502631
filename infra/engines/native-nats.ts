import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { bringOnce } from '../launch/cache.ts'
import { findGo } from '../launch/go.ts'
import { startTogether, type Engine } from './engine.ts'
import { onFreePorts } from './free-ports.ts'
import { startNative } from './native-engine.ts'
import { natsEnvironment, natsUser, newNatsPassword } from './nats-node.ts'
import { natsProbe } from './probe.ts'

const infra = join(import.meta.dirname, '..')
const source = join(import.meta.dirname, 'nats-server')

/**
 * The program `nats-server`, built once from what nats-server/go.mod and go.sum pin: Go compares each module with its digest there.
 * `go` finds the Go that builds it, or brings one.
 */
export function bringNats(go: () => string | undefined = findGo): Promise<string> {
  const pins = createHash('sha256')
  for (const file of ['go.mod', 'go.sum']) pins.update(readFileSync(join(source, file)))
  return bringOnce(`nats-server-${pins.digest('hex').slice(0, 16)}`, async (making) => {
    const program = go()
    if (program === undefined) throw new Error('The NATS server is built with Go 1.21 or later, which is not on PATH.')
    console.error('Building the NATS server (once) …')
    const environment = { ...process.env, CGO_ENABLED: '0', GOFLAGS: '-mod=readonly', GOWORK: 'off' }
    const args = ['build', '-trimpath', '-o', making, 'github.com/nats-io/nats-server/v2']
    const building = spawn(program, args, { cwd: source, env: environment, stdio: ['ignore', 2, 2] })
    const [status] = await once(building, 'close')
    if (status !== 0) throw new Error('The NATS server could not be built: see what Go says above.')
  })
}

/** Three ports for each node: for clients, for health, and for the other nodes. */
function startNodes(program: string, count: number, ports: readonly number[]): Promise<readonly Engine[]> {
  const password = newNatsPassword()
  const nodes = Array.from(
    { length: count },
    (_, node) => ports.slice(3 * node, 3 * node + 3) as [number, number, number],
  )
  const routes = nodes.map(([, , routePort]) => `127.0.0.1:${routePort}`)
  const configuration = join(infra, count === 1 ? 'nats.conf' : 'nats-cluster.conf')
  const start = ([port, monitorPort, routePort]: [number, number, number], node: number): Promise<Engine> => {
    const [name, host, monitor] = [`nats-${node}`, '127.0.0.1', `127.0.0.1:${monitorPort}`]
    return startNative({
      name,
      url: `nats://${natsUser}:${password}@127.0.0.1:${port}`,
      probe: natsProbe(monitor),
      launch: (folder) => ({
        command: program,
        args: ['--config', configuration],
        environment: natsEnvironment({
          name,
          host,
          port,
          monitor,
          routePort,
          routes,
          password,
          store: join(folder, 'store'),
        }),
      }),
    })
  }
  return startTogether(nodes.map(start))
}

/** NATS servers with JetStream: one as infra/nats.conf says, or several as infra/nats-cluster.conf says. */
export async function startNativeNats(count: number): Promise<readonly Engine[]> {
  const program = await bringNats()
  return onFreePorts(3 * count, (ports) => startNodes(program, count, ports))
}
