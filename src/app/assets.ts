import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import type { Route } from '#src/http/route.ts'
import { style } from './style.ts'

/** Browsers store assets but revalidate them each time: a page must not run with an older version's script. */
function asset(path: string, type: string, text: string): Route {
  const etag = createHash('sha256').update(text).digest('base64url')
  return {
    method: 'GET',
    path,
    auth: 'public',
    handler: (ctx) => {
      ctx.set('Cache-Control', 'no-cache')
      ctx.etag = etag
      ctx.status = 200
      if (ctx.fresh) {
        ctx.status = 304
        return
      }
      ctx.type = `${type}; charset=utf-8`
      ctx.body = text
    },
  }
}

/** The route of a file in `scripts`. */
const script = (path: string): Route =>
  asset(path, 'text/javascript', readFileSync(new URL(`scripts/${basename(path)}`, import.meta.url), 'utf8'))

/** A picture of spans on a time line. */
const icon =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="3" fill="#2563eb"/><path d="M3 4h7M5 8h8M8 12h4" stroke="#fff" stroke-width="2"/></svg>'

const iconPath = '/app/icon.svg'
export const reopenScript = '/app/reopen.js'
export const connectScript = '/app/connect.js'
export const copyScript = '/app/copy.js'
export const valuesScript = '/app/values.js'
export const histogramScript = '/app/histogram.js'
export const openTargetScript = '/app/open-target.js'
export const matchesScript = '/app/matches.js'
export const zoomScript = '/app/zoom.js'
export const filterScript = '/app/filter.js'
export const unfoldedScript = '/app/unfolded.js'
export const tailScript = '/app/tail.js'
/** Loaded by every page of a signed-in person. */
export const commonScripts = ['/app/times.js', '/app/shortcuts.js'] as const
/** Imported by other scripts. */
const parts = ['/app/remember.js', '/app/clipboard.js'] as const

/** The style sheet, the scripts and the icon: files of their own, because the content policy forbids inline ones. */
export const createAssetRoutes = (): readonly Route[] => [
  asset('/app/style.css', 'text/css', style),
  asset(iconPath, 'image/svg+xml', icon),
  ...[
    ...commonScripts,
    ...parts,
    reopenScript,
    connectScript,
    copyScript,
    valuesScript,
    histogramScript,
    openTargetScript,
    matchesScript,
    zoomScript,
    filterScript,
    unfoldedScript,
    tailScript,
  ].map(script),
]
