import { chromium, type Page } from 'playwright-core'
import { findChromium } from '../machine/browser.ts'
import { DemoError } from './demo-error.ts'

/** A visit to the shop's page by a real browser: its session, and the traces of its orders. */
export type Visit = Readonly<{ session: string; traceIds: readonly string[] }>

/** With each step: a browser on a machine that is busy starting services takes its time. */
const patienceMs = 60_000

/** Orders with a card, by the page's own form; the trace and the session that the receipt names. */
async function order(page: Page, card: string): Promise<Readonly<{ traceId: string; session: string }>> {
  await page.fill('input[name=card]', card)
  await page.click('button')
  await page.waitForFunction('document.querySelector("#receipt").textContent !== ""')
  const receipt = (await page.textContent('#receipt')) ?? ''
  const [, traceId = '', session = ''] = /Trace ([0-9a-f]{32}), session (\S+)/.exec(receipt) ?? []
  return { traceId, session }
}

/** Opens the page headless, orders once with a good and once with a mistyped card, and leaves when Faro has sent all of it. */
export async function visitPage(url: string): Promise<Visit> {
  const executablePath = findChromium()
  if (executablePath === undefined) {
    throw new DemoError('--browser needs Chromium: install it, or name its program in CHROMIUM.')
  }
  // Root may not use Chromium's sandbox, and the only page it opens is the shop's.
  const args = process.getuid?.() === 0 ? ['--no-sandbox'] : []
  const browser = await chromium.launch({ executablePath, args, timeout: patienceMs })
  try {
    const page = await browser.newPage()
    page.setDefaultTimeout(patienceMs)
    const delivered: string[] = []
    page.on('response', (response) => {
      const request = response.request()
      const isTaken = request.method() === 'POST' && response.status() === 202
      if (isTaken && response.url().includes('/api/rum/')) delivered.push(request.postData() ?? '')
    })
    await page.goto(url)
    await page.waitForSelector('#products input')
    const paid = await order(page, '4242 4242 4242 4242')
    const declined = await order(page, '4242 4242 4242 4243')
    const traceIds = [paid.traceId, declined.traceId]
    const isDelivered = (): boolean => {
      const all = delivered.join('\n')
      return all.includes('checkout failed') && traceIds.every((traceId) => all.includes(traceId))
    }
    while (!isDelivered()) await page.waitForEvent('response')
    await page.goto('about:blank')
    return { session: paid.session, traceIds }
  } finally {
    await browser.close()
  }
}
