import { randomUUID } from 'node:crypto'
import { open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { rmSync } from 'node:fs'
import { z } from 'zod'
import { runService, type Reply } from './service.ts'

const order = z.object({
  items: z.array(z.object({ sku: z.string(), quantity: z.number().int().min(1).max(20) })).min(1),
  card: z.string(),
})
type Order = z.output<typeof order>
type Product = { readonly sku: string; readonly name: string; readonly cents: number; stock: number }

const catalogue = new Map<string, Product>(
  [
    { sku: 'mug', name: 'Mug', cents: 1_250, stock: 500 },
    { sku: 'notebook', name: 'Notebook', cents: 690, stock: 800 },
    { sku: 'chair', name: 'Chair', cents: 24_900, stock: 200 },
    { sku: 'lamp', name: 'Lamp (last pieces)', cents: 8_900, stock: 3 },
  ].map((product) => [product.sku, product]),
)

const soldOut = (name: string): Reply => ({ status: 409, body: { error: `${name} is sold out` } })

await runService('orders', async ({ log, inSpan, call }) => {
  const journalFile = join(tmpdir(), `shop-orders-${process.pid}.ndjson`)
  const journal = await open(journalFile, 'a', 0o600)
  process.on('exit', () => rmSync(journalFile, { force: true }))

  /** Takes all items out of stock, or none: then the name of the one that is sold out. */
  const reserve = ({ items }: Order): Promise<string | undefined> =>
    inSpan('reserve stock', { attributes: { 'order.lines': items.length } }, async (span) => {
      const lacking = items.find(({ sku, quantity }) => (catalogue.get(sku)?.stock ?? 0) < quantity)
      if (lacking !== undefined) {
        span.addEvent('sold out', { sku: lacking.sku })
        return catalogue.get(lacking.sku)?.name ?? lacking.sku
      }
      move(items, -1)
      return undefined
    })

  const move = (items: Order['items'], sign: 1 | -1): void => {
    for (const { sku, quantity } of items) {
      const product = catalogue.get(sku)
      if (product !== undefined) product.stock += sign * quantity
    }
  }

  const store = (id: string, cents: number): Promise<void> =>
    inSpan('append to journal', { attributes: { 'order.id': id } }, async () => {
      await journal.appendFile(`${JSON.stringify({ id, cents, at: new Date().toISOString() })}\n`)
      await journal.sync()
    })

  const pay = async (id: string, cents: number, { items, card }: Order): Promise<Reply> => {
    const { status, body } = await call('payments', 'POST /charges', { order: id, cents, card })
    if (status === 200) {
      await store(id, cents)
      log.info({ order: id, cents }, 'order stored')
      return { status: 201, body: { order: id, cents } }
    }
    move(items, 1)
    log.warn({ order: id, cents, status }, 'order not paid, stock given back')
    return status === 402
      ? { status: 402, body: { error: (body as { reason?: string }).reason ?? 'declined' } }
      : { status: 502, body: { error: 'the payment could not be made' } }
  }

  const place = async (body: unknown): Promise<Reply> => {
    const parsed = order.safeParse(body)
    if (!parsed.success) return { status: 400, body: { error: z.prettifyError(parsed.error) } }
    const lacking = await reserve(parsed.data)
    if (lacking !== undefined) {
      log.info({ product: lacking }, 'sold out')
      return soldOut(lacking)
    }
    const prices = parsed.data.items.map(({ sku, quantity }) => (catalogue.get(sku)?.cents ?? 0) * quantity)
    return pay(
      randomUUID(),
      prices.reduce((sum, cents) => sum + cents, 0),
      parsed.data,
    )
  }

  return new Map([
    ['GET /products', () => Promise.resolve({ status: 200, body: [...catalogue.values()] })],
    ['POST /orders', place],
  ])
})
