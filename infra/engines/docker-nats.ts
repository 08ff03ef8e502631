import { join } from 'node:path'
import { GenericContainer, getContainerRuntimeClient, Network } from 'testcontainers'
import { startContainer } from './docker.ts'
import { startTogether, type Engine } from './engine.ts'
import { onFreePorts } from './free-ports.ts'
import { natsImage } from './images.ts'
import { natsEnvironment, natsUser, newNatsPassword } from './nats-node.ts'
import { natsProbe } from './probe.ts'

const [port, monitorPort, routePort] = [4222, 8222, 6222]

/** The same files as a native server's, in the image's place for them. */
const files = ['nats.conf', 'nats-cluster.conf'].map((file) => ({
  source: join(import.meta.dirname, '..', file),
  target: `/etc/nats/${file}`,
}))

/** NATS servers with JetStream in containers: see `startNativeNats`. Two ports of the host for each. */
export async function startDockerNats(count: number): Promise<readonly Engine[]> {
  const client = await getContainerRuntimeClient()
  const password = newNatsPassword()
  const network = await new Network().start()
  const names = Array.from({ length: count }, (_, node) => `nats-${node}`)
  const environment = (name: string) =>
    natsEnvironment({
      name,
      host: '0.0.0.0',
      port,
      monitor: `0.0.0.0:${monitorPort}`,
      routePort,
      routes: names.map((each) => `${each}:${routePort}`),
      store: '/data',
      password,
    })
  return onFreePorts(2 * count, (ports) =>
    startTogether(
      names.map((name, node) => {
        const [clients = 0, monitor = 0] = ports.slice(2 * node)
        const address = `${client.info.containerRuntime.host}:${clients}`
        const container = new GenericContainer(natsImage)
          .withEnvironment(environment(name))
          .withCopyFilesToContainer(files)
          .withExposedPorts({ container: port, host: clients }, { container: monitorPort, host: monitor })
          .withNetwork(network)
          .withNetworkAliases(name)
          // Nodes tell clients of each other: by addresses that are good outside their network.
          .withCommand(['--config', files[count === 1 ? 0 : 1]?.target ?? '', '--client_advertise', address])
        const probe = natsProbe(`${client.info.containerRuntime.host}:${monitor}`)
        return startContainer(container, `nats://${natsUser}:${password}@${address}`, probe)
      }),
    ),
  )
}
