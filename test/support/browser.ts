import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { build } from 'esbuild'
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core'
import { cookieOf } from './client.ts'
import type { FirstRun, Server } from './server.ts'

// Chromium would look for its maker's servers at every start; a test needs none of them.
const quiet = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking']
const quieter = ['--disable-component-update', '--disable-sync']

/** No limit of its own on anything: a test has one. */
const timeout = 0

let shared: Promise<Browser> | undefined
/** The Chromium that infra/machine/browser.ts brought: one for all files that a process of tests runs, with which it ends. */
export const borrowChromium = (): Promise<Browser> =>
  (shared ??= chromium.launch({
    executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
    args: [...quiet, ...quieter],
    timeout,
  }))

/** Gives it back, with nobody in it. */
export async function closeTabs(browser: Browser): Promise<void> {
  await Promise.all(browser.contexts().map((context) => context.close()))
}

/** A tab of a person who was never here before, and who waits for what a page is to show, however busy the machine is. */
export async function openTab(browser: Browser, options: BrowserContextOptions = {}): Promise<Page> {
  const context = await browser.newContext(options)
  context.setDefaultTimeout(timeout)
  return context.newPage()
}

/** Signs in on the page that is there, which then leads to where the tab was going. */
export async function signInOn(tab: Page, { email, password }: FirstRun['sign_in']): Promise<void> {
  await tab.getByLabel('E-mail').fill(email)
  await tab.getByLabel('Password').fill(password)
  await tab.getByRole('button', { name: 'Sign in' }).click()
}

/** Searches by the form on the page that is there, until what was found is there too: a click is done when its page begins to come. */
export async function searchOn(tab: Page, query: string): Promise<void> {
  await tab.getByRole('searchbox').fill(query)
  await tab.getByRole('button', { name: 'Search', exact: true }).click()
  await tab.waitForLoadState()
}

export type Site = Readonly<{
  /** The address of the page that runs a script, which reads `settings` from its own address. */
  page(script: string, settings?: Readonly<Record<string, string>>): string
  close(): void
}>

/** A customer's site: for each of these programs of test/e2e/programs a page that runs it, bundled for browsers. */
export async function serveSite(...programs: readonly string[]): Promise<Site> {
  const scripts = new Map<string, string>()
  for (const program of programs) {
    const { outputFiles } = await build({
      entryPoints: [`test/e2e/programs/${program}`],
      bundle: true,
      write: false,
      format: 'iife',
    })
    scripts.set(`/${program}`, outputFiles[0]?.text ?? '')
  }
  const server = createServer((request, response) => {
    const [path = '', program = ''] = (request.url ?? '').split('?', 1)[0]?.split('/page') ?? []
    const script = scripts.get(path)
    response.setHeader('Content-Type', `${script === undefined ? 'text/html' : 'text/javascript'}; charset=utf-8`)
    response.end(script ?? `<!doctype html><title>Shop</title><script src="${program}"></script>`)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    page: (script, settings = {}) => `${origin}/page/${script}?${new URLSearchParams(settings).toString()}`,
    close: () => server.close(),
  }
}

/** What goes wrong in a tab from now on, for its operator's eyes. That a busy server says "come back" is nothing: pages do. */
export function complaintsOf(tab: Page): readonly string[] {
  const complaints: string[] = []
  tab.on('console', (message) => {
    if (message.type() === 'error' && !/status of 503/.test(message.text())) complaints.push(message.text())
  })
  tab.on('pageerror', (error) => complaints.push(error.message))
  return complaints
}

/**
 * A tab of the first user, on the overview, and what goes wrong in it. It signs in as scripts do: two pages fewer to draw than by the form,
 * which `connect.test.ts` fills in.
 */
export async function openSignedIn(
  browser: Browser,
  { baseUrl, firstRun }: Pick<Server, 'baseUrl' | 'firstRun'>,
  options: BrowserContextOptions = {},
): Promise<Readonly<{ tab: Page; complaints: readonly string[] }>> {
  const tab = await openTab(browser, { baseURL: baseUrl, ...options })
  const complaints = complaintsOf(tab)
  const cookies = (await cookieOf(baseUrl, firstRun.sign_in)).split('; ').map((cookie) => cookie.split('='))
  await tab.context().addCookies(cookies.map(([name = '', value = '']) => ({ name, value, url: baseUrl })))
  await tab.goto('/app')
  await tab.getByRole('heading', { name: 'Overview' }).waitFor()
  return { tab, complaints }
}

const screens = [
  [390, 'dark'],
  [1_280, 'light'],
] as const

/** Looks at pages without scripts, signed in, on a phone that is dark and on a wide screen that is light. */
export async function onEachScreen(
  browser: Browser,
  server: Pick<Server, 'baseUrl' | 'firstRun'>,
  look: (tab: Page, width: number) => Promise<void>,
): Promise<void> {
  for (const [width, colorScheme] of screens) {
    const options = { javaScriptEnabled: false, viewport: { width, height: 900 }, colorScheme }
    const { tab } = await openSignedIn(browser, server, options)
    await look(tab, width)
    await tab.context().close()
  }
}
