import type { Engine } from './engine.ts'
import { startNativeNats } from './native-nats.ts'

/** `url` names all nodes, in their order. */
export type NatsCluster = Readonly<{ url: string; nodes: readonly Engine[]; remove(): Promise<void> }>

/** Nodes that hold streams with replicas together. */
export async function startNatsCluster(count: number): Promise<NatsCluster> {
  const nodes = await startNativeNats(count)
  return {
    url: nodes.map(({ url }) => url).join(','),
    nodes,
    remove: async () => {
      await Promise.all(nodes.map((node) => node.remove()))
    },
  }
}

/** A NATS server with JetStream of our own, to be stopped, killed and started again. */
export const startNats = async (): Promise<Engine> => (await startNativeNats(1))[0] as Engine
