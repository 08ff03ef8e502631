import { randomUUID } from 'node:crypto'

type Item = Readonly<{ sku: string; quantity: number }>
type Wish = Readonly<{ items: readonly Item[]; card: string }>

/** What became of one shopper's order. */
export type Purchase = Readonly<{ status: number; durationMs: number; traceId: string; session: string }>

const card = '4242 4242 4242 4242'
const mistyped = '4242 4242 4242 4243'
const gift = `GIFT-${Buffer.from(JSON.stringify({ cents: 5_000 })).toString('base64url')}`
const cutShort = gift.slice(0, 12)
const one = (sku: string): readonly Item[] => [{ sku, quantity: 1 }]

/** What shoppers want and how they pay, in turn. What comes of it is the services' doing. */
const wishes: readonly Wish[] = [
  { items: one('mug'), card },
  { items: one('chair'), card },
  { items: [...one('mug'), { sku: 'notebook', quantity: 3 }], card: mistyped },
  { items: one('notebook'), card: cutShort },
  { items: one('lamp'), card },
  { items: one('notebook'), card: gift },
  { items: [{ sku: 'chair', quantity: 4 }, ...one('mug')], card },
  { items: [...one('mug'), ...one('notebook')], card },
  { items: [{ sku: 'mug', quantity: 6 }], card: gift },
  { items: one('mug'), card },
]
const atOnce = 4

async function shop(url: string, { items, card: paidWith }: Wish): Promise<Purchase> {
  const session = randomUUID()
  const headers = { 'content-type': 'application/json', 'x-session-id': session }
  await fetch(`${url}/api/products`, { headers }).then((response) => response.arrayBuffer())
  const begun = performance.now()
  const body = JSON.stringify({ items, card: paidWith })
  const response = await fetch(`${url}/api/checkout`, { method: 'POST', headers, body })
  await response.arrayBuffer()
  const durationMs = performance.now() - begun
  return { status: response.status, durationMs, traceId: response.headers.get('x-trace-id') ?? '', session }
}

/** Sends so many shoppers to the shop, four at a time; what became of each. */
export async function sendShoppers(url: string, orders: number): Promise<readonly Purchase[]> {
  const purchases: Purchase[] = []
  let next = 0
  const lane = async (): Promise<void> => {
    while (next < orders) {
      const wish = wishes[next++ % wishes.length]
      if (wish !== undefined) purchases.push(await shop(url, wish))
    }
  }
  await Promise.all(Array.from({ length: atOnce }, lane))
  return purchases
}
