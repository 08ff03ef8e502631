import type { Dice } from './dice.ts'

type LogLevel = 'debug' | 'info' | 'warn' | 'error'
/** A line as a service writes it; `{}` stands for a number. `weight`: how often, of the sum of all weights. */
export type LogShape = Readonly<{
  level: LogLevel
  service: string
  logger: string
  text: string
  weight: number
  fields: (dice: Dice) => Readonly<Record<string, string | number | boolean>>
}>

const http = (dice: Dice): Readonly<Record<string, string | number>> => ({
  method: dice.pick(['GET', 'GET', 'POST', 'PUT']),
  path: `/api/v1/orders/${dice.below(1_000_000)}`,
  status: dice.pick([200, 200, 201, 304]),
  duration_ms: dice.below(400_000) / 1_000,
})
const query = (dice: Dice): Readonly<Record<string, string | number>> => ({
  table: dice.pick(['orders', 'carts', 'stock', 'payments']),
  rows: dice.below(500),
  duration_ms: dice.below(90_000) / 1_000,
})
const customer = (dice: Dice): Readonly<Record<string, string | number | boolean>> => ({
  customer: `c-${dice.below(200_000)}`,
  tier: dice.pick(['gold', 'silver', 'basic']),
  returning: dice.chance(0.6),
})

const shape = (
  weight: number,
  level: LogLevel,
  service: string,
  logger: string,
  text: string,
  fields: LogShape['fields'],
): LogShape => ({ weight, level, service, logger: `shop.${service}.${logger}`, text, fields })

export const logShapes: readonly LogShape[] = [
  shape(30, 'info', 'web-gateway', 'AccessLog', 'request {} completed', http),
  shape(16, 'info', 'orders', 'OrderService', 'order {} accepted with {} items', customer),
  shape(12, 'debug', 'cart', 'CartStore', 'cart {} loaded from cache', query),
  shape(10, 'debug', 'inventory', 'StockDao', 'statement {} returned in {} ms', query),
  shape(8, 'info', 'shipping', 'Courier', 'parcel {} handed over to carrier {}', customer),
  shape(7, 'info', 'accounts', 'TokenService', 'token {} issued for {} seconds', customer),
  shape(6, 'info', 'mail', 'Outbox', 'receipt {} queued, {} waiting', customer),
  shape(4, 'warn', 'catalog', 'ImageProxy', 'thumbnail {} is larger than {} kB', http),
  shape(3, 'warn', 'pricing', 'PromotionEngine', 'promotion {} expired {} minutes ago', customer),
  shape(2, 'error', 'payment', 'CardGateway', 'payment declined by the issuer, code {}', customer),
  shape(1, 'error', 'checkout', 'UpstreamClient', 'upstream timeout after {} ms, attempt {}', http),
  shape(0.5, 'error', 'orders', 'OrderDao', 'deadlock detected on relation {}, retrying', query),
  shape(0.5, 'info', 'search', 'Reindexer', 'Zählung für Müller abgeschlossen, {} Treffer', query),
]

/** Searches whose matches can be counted from the shapes: each word stands in no field and no other text. */
export const logWords = ['completed', 'declined', 'timeout', 'deadlock', 'carrier'] as const
export const logPhrases = [
  { q: '"payment declined" service:payment', text: 'payment declined' },
  { q: '"upstream timeout" level:error', text: 'upstream timeout' },
  { q: '"handed over" service:shipping', text: 'handed over' },
] as const
