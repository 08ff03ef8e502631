import type { Engine } from './engine.ts'
import { startNativeNats } from './native-nats.ts'
import { provider } from './provider.ts'

/** `url` names all nodes, in their order. */
export type NatsCluster = Readonly<{ url: string; nodes: readonly Engine[]; remove(): Promise<void> }>

async function startNodes(count: number): Promise<readonly Engine[]> {
  if ((await provider()) === 'native') return startNativeNats(count)
  const { startDockerNats } = await import('./docker-nats.ts')
  return startDockerNats(count)
}

/** Nodes that hold streams with replicas together. */
export async function startNatsCluster(count: number): Promise<NatsCluster> {
  const nodes = await startNodes(count)
  return {
    url: nodes.map(({ url }) => url).join(','),
    nodes,
    remove: async () => {
      await Promise.all(nodes.map((node) => node.remove()))
    },
  }
}

/** A NATS server with JetStream of our own, to be stopped, killed and started again. */
export const startNats = async (): Promise<Engine> => (await startNodes(1))[0] as Engine
