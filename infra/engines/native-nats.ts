import { join } from 'node:path'
import { startTogether, type Engine } from './engine.ts'
import { onFreePorts } from './free-ports.ts'
import { bringGoProgram } from './go-program.ts'
import { startNative } from './native-engine.ts'
import { natsEnvironment, natsUser, newNatsPassword } from './nats-node.ts'
import { natsProbe } from './probe.ts'

const infra = join(import.meta.dirname, '..')
/** The program `nats-server`. `go` finds the Go that builds it, or brings one. */
export const bringNats = (go?: () => string | undefined): Promise<string> =>
  bringGoProgram({ name: 'nats-server', title: 'The NATS server', package: 'github.com/nats-io/nats-server/v2' }, go)

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
