import { parseArgs } from 'node:util'
import { DemoError } from './demo-error.ts'
import { describeMade, describePurchases, describeSearches } from './report.ts'
import { sendShoppers, type Purchase } from './shoppers.ts'
import { startShop, type Shop } from './shop.ts'
import { checkTarget, readTarget } from './target.ts'
import { visitPage, type Visit } from './visit.ts'

const ordersMax = 10_000
const usage = `Usage: npm run demo -- [--orders N] [--browser] [--serve] [--port N] [--data FOLDER]

A small shop sends real telemetry into the running server.

  --orders N     shoppers who order one after the other, four at a time; default 50, at most ${ordersMax}
  --browser      visits the shop's page once with a headless Chromium
  --serve        goes on serving the page until Ctrl-C
  --port N       where to serve the page; default any free port
  --data FOLDER  the server's data folder, for its address and keys. Without it: the
                 variables of "npx throughline env", else those of the folder THROUGHLINE_DATA or ./data
`

type Options = Readonly<{ orders: number; browser: boolean; serve: boolean; port: number; data: string | undefined }>

function readWhole(name: string, text: string, most: number): number {
  if (/^\d{1,5}$/.test(text) && Number(text) <= most) return Number(text)
  throw new DemoError(`--${name} takes a number from 0 to ${most}, not ${JSON.stringify(text)}.`)
}

/** Undefined: help was asked for. */
function readOptions(args: readonly string[]): Options | undefined {
  const options = {
    orders: { type: 'string', default: '50' },
    browser: { type: 'boolean', default: false },
    serve: { type: 'boolean', default: false },
    port: { type: 'string', default: '0' },
    data: { type: 'string' },
    help: { type: 'boolean', short: 'h', default: false },
  } as const
  try {
    const { values } = parseArgs({ args: [...args], options })
    if (values.help) return undefined
    const orders = readWhole('orders', values.orders, ordersMax)
    return { ...values, orders, port: readWhole('port', values.port, 65_535), data: values.data }
  } catch (error) {
    if (error instanceof DemoError) throw error
    throw new DemoError(`${(error as Error).message.split('\n', 1)[0]}\n\n${usage}`)
  }
}

type Seen = Readonly<{ purchases: readonly Purchase[]; visit: Visit | undefined }>

async function useShop(shop: Shop, { orders, browser }: Options): Promise<Seen> {
  const purchases = await sendShoppers(shop.url, orders)
  if (purchases.length > 0) console.log(describePurchases(purchases))
  const visit = browser ? await visitPage(shop.url) : undefined
  if (visit !== undefined) console.log(`Browser: session ${visit.session}, orders in ${visit.traceIds.join(', ')}`)
  return { purchases, visit }
}

async function serveUntilEnded(shop: Shop): Promise<void> {
  console.log(`Order something yourself at ${shop.url}; Ctrl-C ends it.`)
  const { promise, resolve } = Promise.withResolvers<void>()
  // Listened to for good: Ctrl-C comes from the terminal and once more from the launcher.
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => resolve())
  await promise
}

async function run(args: readonly string[]): Promise<void> {
  const options = readOptions(args)
  if (options === undefined) return console.log(usage)
  const target = readTarget(process.env, options.data)
  await checkTarget(target)
  const shop = await startShop(target, options.port)
  console.log(`Shop: ${shop.url} (web -> orders -> payments), sending to ${target.baseUrl}`)
  let searches = ''
  try {
    const { purchases, visit } = await useShop(shop, options)
    searches = describeSearches(target.baseUrl, purchases, visit)
    if (options.serve) {
      console.log(searches)
      await serveUntilEnded(shop)
    }
  } finally {
    console.log(describeMade(await shop.stop()))
  }
  if (!options.serve) console.log(searches)
}

try {
  await run(process.argv.slice(2))
} catch (error) {
  console.error(error instanceof DemoError ? `demo: ${error.message}` : error)
  process.exit(1)
}
