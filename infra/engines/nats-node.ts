import { randomBytes } from 'node:crypto'

/** Whom clients and the other nodes are. */
export const natsUser = 'throughline'

/** Begins with a letter: the server's configuration takes what begins with a digit for a number. */
export const newNatsPassword = (): string => `p${randomBytes(16).toString('hex')}`

/** Where a node listens (`monitor` with its host), what it is called, and where its cluster is. */
type NatsNode = Readonly<{
  name: string
  host: string
  port: number
  monitor: string
  routePort: number
  routes: readonly string[]
  store: string
  password: string
}>

/** The variables that infra/nats.conf and infra/nats-cluster.conf name. */
export const natsEnvironment = (node: NatsNode): Readonly<Record<string, string>> => ({
  NATS_NAME: node.name,
  NATS_HOST: node.host,
  NATS_PORT: String(node.port),
  NATS_MONITOR: node.monitor,
  NATS_USER: natsUser,
  NATS_PASSWORD: node.password,
  NATS_STORE: node.store,
  // Many tests make many streams, and each reserves what it may grow to.
  NATS_STORE_BYTES: '1TB',
  NATS_ROUTE_PORT: String(node.routePort),
  NATS_ROUTE_USER: natsUser,
  NATS_ROUTE_PASSWORD: node.password,
  NATS_ROUTES: `[${node.routes.map((route) => `nats-route://${natsUser}:${node.password}@${route}`).join(', ')}]`,
})
