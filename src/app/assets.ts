import { readFileSync } from 'node:fs'
import type { Route } from '#src/http/route.ts'
import { style } from './style.ts'

const asset = (path: string, type: string, text: string): Route => ({
  method: 'GET',
  path,
  auth: 'public',
  handler: (ctx) => {
    ctx.set('Cache-Control', 'public, max-age=3600')
    ctx.type = `${type}; charset=utf-8`
    ctx.body = text
  },
})

const script = (name: string): string => readFileSync(new URL(`scripts/${name}`, import.meta.url), 'utf8')

export const connectScript = '/app/connect.js'
export const tailScript = '/app/tail.js'

/** The style sheet and the scripts: files of their own, because the content policy forbids inline ones. */
export const createAssetRoutes = (): readonly Route[] => [
  asset('/app/style.css', 'text/css', style),
  asset(connectScript, 'text/javascript', script('connect.js')),
  asset(tailScript, 'text/javascript', script('tail.js')),
]
