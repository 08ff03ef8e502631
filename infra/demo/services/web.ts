import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { build } from 'esbuild'
import { runService, type Handler } from './service.ts'

const page = join(import.meta.dirname, '..', 'page')

/** The page's script with Faro in it, bundled into memory; it is told where to send and with which publishable key. */
async function bundlePage(): Promise<string> {
  const { RUM_URL: url = '', RUM_KEY: key = '' } = process.env
  const { outputFiles } = await build({
    entryPoints: [join(page, 'shop.js')],
    bundle: true,
    write: false,
    minify: true,
    format: 'iife',
    define: { RUM_URL: JSON.stringify(url), RUM_KEY: JSON.stringify(key) },
  })
  return outputFiles[0]?.text ?? ''
}

await runService('web', async ({ log, call }) => {
  const [html, script] = await Promise.all([readFile(join(page, 'index.html'), 'utf8'), bundlePage()])
  return new Map<string, Handler>([
    ['GET /', () => Promise.resolve({ status: 200, body: html, type: 'text/html; charset=utf-8' })],
    ['GET /shop.js', () => Promise.resolve({ status: 200, body: script, type: 'text/javascript; charset=utf-8' })],
    ['GET /api/products', () => call('orders', 'GET /products')],
    [
      'POST /api/checkout',
      async (body) => {
        const reply = await call('orders', 'POST /orders', body)
        if (reply.status === 201) log.info('checkout done')
        else log.warn({ status: reply.status }, 'checkout refused')
        return reply
      },
    ],
  ])
})
