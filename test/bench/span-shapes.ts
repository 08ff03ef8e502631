import type { Dice } from './dice.ts'

/** An attribute; whole numbers are int values, others double. Names: OpenTelemetry semantic conventions 1.30. */
export type Attribute = readonly [name: string, value: string | number | boolean]
export type Shape = 'server' | 'client' | 'database' | 'producer' | 'consumer' | 'internal'

export type Service = Readonly<{
  name: string
  language: string
  sdk: string
  package: string
  tables: readonly string[]
  topic: string
  routes: readonly (readonly [method: string, route: string])[]
}>

const service = (
  name: string,
  language: string,
  tables: readonly string[],
  routes: readonly (readonly [string, string])[],
): Service => ({
  name,
  language,
  sdk: language === 'nodejs' ? '2.12.1' : '1.44.0',
  package: `shop/${name}/internal/${tables[0] ?? name}`,
  tables,
  topic: `shop.${name}.events`,
  routes,
})

/** A shop of twelve services. The first is where every trace begins. */
export const services: readonly Service[] = [
  service(
    'web-gateway',
    'nodejs',
    ['sessions'],
    [
      ['GET', '/'],
      ['GET', '/products/{productId}'],
      ['GET', '/cart'],
      ['POST', '/checkout'],
      ['GET', '/search'],
    ],
  ),
  service(
    'catalog',
    'java',
    ['products', 'categories'],
    [
      ['GET', '/api/v1/products/{productId}'],
      ['GET', '/api/v1/categories/{categoryId}/products'],
    ],
  ),
  service(
    'cart',
    'go',
    ['carts', 'cart_items'],
    [
      ['GET', '/api/v1/carts/{cartId}'],
      ['PUT', '/api/v1/carts/{cartId}/items'],
    ],
  ),
  service(
    'checkout',
    'java',
    ['checkouts'],
    [
      ['POST', '/api/v1/checkouts'],
      ['GET', '/api/v1/checkouts/{checkoutId}'],
    ],
  ),
  service(
    'payment',
    'java',
    ['payments', 'refunds'],
    [
      ['POST', '/api/v1/payments'],
      ['POST', '/api/v1/payments/{paymentId}/capture'],
    ],
  ),
  service(
    'orders',
    'go',
    ['orders', 'order_items'],
    [
      ['POST', '/api/v1/orders'],
      ['GET', '/api/v1/orders/{orderId}'],
    ],
  ),
  service(
    'inventory',
    'go',
    ['stock', 'reservations'],
    [
      ['GET', '/api/v1/stock/{sku}'],
      ['POST', '/api/v1/reservations'],
    ],
  ),
  service(
    'shipping',
    'python',
    ['shipments'],
    [
      ['POST', '/api/v1/shipments'],
      ['GET', '/api/v1/quotes'],
    ],
  ),
  service(
    'accounts',
    'nodejs',
    ['users', 'addresses'],
    [
      ['GET', '/api/v1/users/{userId}'],
      ['POST', '/api/v1/tokens'],
    ],
  ),
  service('pricing', 'python', ['prices', 'promotions'], [['POST', '/api/v1/quotes/price']]),
  service('search', 'java', ['search_terms'], [['GET', '/api/v1/search']]),
  service('mail', 'nodejs', ['messages'], [['POST', '/api/v1/messages']]),
]

export const podsPerService = 3

const agents = [
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/142.0.0.0 Safari/537.36',
  'okhttp/4.12.0',
  'axios/1.13.2',
  'Go-http-client/1.1',
]

const hexDigits = (dice: Dice, digits: number): string =>
  Array.from({ length: digits }, () => dice.below(16).toString(16)).join('')
const host = ({ name }: Service): string => `${name}.shop.svc.cluster.local`
const address = (dice: Dice): string => `10.4.${dice.below(256)}.${dice.below(256)}`

/** A resource as the SDK and the Collector's k8s processor make it: the same for every span of a pod. */
export function resourceOf({ name, language, sdk }: Service, pod: number): readonly Attribute[] {
  const podName = `${name}-7d9f8c6b5d-x${pod}k2v`
  return [
    ['service.name', name],
    ['service.namespace', 'shop'],
    ['service.version', `2.${name.length}.${pod}`],
    ['service.instance.id', `6f1c${pod}e2a-90b4-4c1d-8a35-${name.length.toString(16).padStart(12, '7')}`],
    ['deployment.environment.name', 'production'],
    ['host.name', `ip-10-4-0-${pod + 10}`],
    ['k8s.namespace.name', 'shop'],
    ['k8s.pod.name', podName],
    ['telemetry.sdk.language', language],
    ['telemetry.sdk.name', 'opentelemetry'],
    ['telemetry.sdk.version', sdk],
    ['process.pid', 1],
  ]
}

export type Described = Readonly<{ name: string; kind: number; scope: string; attributes: readonly Attribute[] }>
/** `session`: that of the visitor whose doing the trace is. */
type Describe = (dice: Dice, service: Service, of: Readonly<{ failed: boolean; session: string }>) => Described

/** SpanKind of opentelemetry-proto. */
const kinds = { internal: 1, server: 2, client: 3, producer: 4, consumer: 5 } as const

const server: Describe = (dice, service, { failed, session }) => {
  const [method, route] = dice.pick(service.routes)
  return {
    name: `${method} ${route}`,
    kind: kinds.server,
    scope: '@opentelemetry/instrumentation-http',
    attributes: [
      ['http.request.method', method],
      ['http.route', route],
      ['url.path', route.replace(/\{\w+\}/, String(dice.below(1_000_000)))],
      ['url.scheme', 'https'],
      ['http.response.status_code', failed ? 500 : 200],
      ['server.address', host(service)],
      ['server.port', 8443],
      ['client.address', address(dice)],
      ['network.protocol.version', '1.1'],
      ['user_agent.original', dice.pick(agents)],
      ['session.id', session],
    ],
  }
}

const client: Describe = (dice, _service, { failed }) => {
  const peer = dice.pick(services.slice(1))
  const [method, route] = dice.pick(peer.routes)
  const path = route.replace(/\{\w+\}/, String(dice.below(1_000_000)))
  return {
    name: method,
    kind: kinds.client,
    scope: '@opentelemetry/instrumentation-undici',
    attributes: [
      ['http.request.method', method],
      ['url.full', `https://${host(peer)}:8443${path}?tenant=${dice.below(500)}`],
      ['server.address', host(peer)],
      ['server.port', 8443],
      ['http.response.status_code', failed ? 503 : 200],
      ['network.peer.address', address(dice)],
      ['network.peer.port', 8443],
      ['network.protocol.version', '1.1'],
      ['http.request.resend_count', dice.chance(0.05) ? 1 : 0],
      ['peer.service', peer.name],
    ],
  }
}

const database: Describe = (dice, { name, tables }) => {
  const table = dice.pick(tables)
  const operation = dice.pick(['SELECT', 'SELECT', 'SELECT', 'UPDATE'])
  const text =
    operation === 'SELECT'
      ? `SELECT id, status, quantity, updated_at FROM ${table} WHERE tenant_id = $1 AND id = $2 AND deleted_at IS NULL`
      : `UPDATE ${table} SET status = $1, updated_at = now() WHERE tenant_id = $2 AND id = $3`
  return {
    name: `${operation} ${name}.${table}`,
    kind: kinds.client,
    scope: '@opentelemetry/instrumentation-pg',
    attributes: [
      ['db.system.name', 'postgresql'],
      ['db.namespace', name],
      ['db.operation.name', operation],
      ['db.collection.name', table],
      ['db.query.text', text],
      ['server.address', `${name}-db.shop.svc.cluster.local`],
      ['server.port', 5432],
      ['network.peer.address', address(dice)],
      ['db.response.returned_rows', dice.below(200)],
      ['thread.id', dice.below(64)],
    ],
  }
}

const messaging = (operation: 'send' | 'process', kind: number): Describe => {
  return (dice, { name, topic }) => ({
    name: `${operation} ${topic}`,
    kind,
    scope: '@opentelemetry/instrumentation-kafkajs',
    attributes: [
      ['messaging.system', 'kafka'],
      ['messaging.operation.name', operation],
      ['messaging.operation.type', operation],
      ['messaging.destination.name', topic],
      ['messaging.destination.partition.id', String(dice.below(24))],
      ['messaging.kafka.offset', dice.below(2 ** 31)],
      ['messaging.kafka.message.key', `order-${dice.below(1_000_000)}`],
      ['messaging.message.body.size', dice.between(200, 4_000)],
      ['messaging.client.id', `${name}-${dice.below(podsPerService)}`],
      ['server.address', 'kafka.shop.svc.cluster.local'],
      ['server.port', 9092],
    ],
  })
}

const internal: Describe = (dice, { name, package: folder }) => {
  const step = dice.pick(['validate', 'price', 'reserve', 'render', 'serialize', 'authorize'])
  return {
    name: `${name}.${step}`,
    kind: kinds.internal,
    scope: `shop/${name}`,
    attributes: [
      ['code.function.name', `${folder.replaceAll('/', '.')}.${step}`],
      ['code.file.path', `/app/${folder}/${step}.src`],
      ['code.line.number', dice.between(20, 900)],
      ['thread.id', dice.below(64)],
      ['thread.name', `worker-${dice.below(64)}`],
      ['app.customer.tier', dice.pick(['gold', 'silver', 'basic'])],
      ['app.order.id', `ord_${hexDigits(dice, 12)}`],
      ['app.order.total', dice.below(50_000) / 100 + 0.001],
      ['app.order.items', dice.between(1, 20)],
      ['app.feature.new_pricing', dice.chance(0.5)],
      ['app.region', dice.pick(['eu-central-1', 'eu-west-1', 'us-east-1'])],
    ],
  }
}

export const describe: Readonly<Record<Shape, Describe>> = {
  server,
  client,
  database,
  producer: messaging('send', kinds.producer),
  consumer: messaging('process', kinds.consumer),
  internal,
}

/** What an SDK records of an exception. */
export const exceptionOf = (dice: Dice, { name, package: folder }: Service): readonly Attribute[] => [
  ['exception.type', dice.pick(['TimeoutError', 'java.sql.SQLException', 'ConnectionResetError'])],
  ['exception.message', `upstream did not answer within ${dice.between(100, 5_000)} ms`],
  [
    'exception.stacktrace',
    [
      'TimeoutError: upstream did not answer',
      ...[41, 118, 260, 77].map(
        (line, depth) => `    at ${name}.step${depth} (/app/${folder}/step${depth}.src:${line})`,
      ),
    ].join('\n'),
  ],
]
