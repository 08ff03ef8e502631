import type { Context } from 'koa'
import type { Session, Workspace } from '#src/directory/directory.ts'
import { commonScripts } from './assets.ts'
import { cut } from './format.ts'
import { html, type Html } from './html.ts'
import { planHasPage } from './plan-has.ts'
import { tracePath } from './trace-address.ts'
import { withWorkspace } from './workspace-links.ts'

/** Allows only our own style sheet, images and forms: no scripts, no frames, nothing from elsewhere (CSP Level 3). */
const contentPolicy =
  "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
/** For a page with scripts: also our own script files, and requests to our own addresses. Nothing inline. */
const scriptPolicy = `${contentPolicy}; script-src 'self'; connect-src 'self'`

type Page = Readonly<{
  title: string
  /** What the page shows, so that tabs and history entries can be told apart. */
  about?: string | undefined
  body: Html
  session?: Session | undefined
  workspace?: Workspace | undefined
  /** Shown at the head of the page. */
  warning?: string | undefined
  isOwner?: boolean
  /** Whether the page's links name the workspace that it shows. */
  isOfSeveral?: boolean
  /** Paths of the page's own scripts. */
  scripts?: readonly string[]
}>

const links = [
  ['/app', 'Overview'],
  ['/app/traces', 'Traces'],
  ['/app/logs', 'Logs'],
  ['/app/sessions', 'Sessions'],
  ['/app/map', 'Map'],
  ['/app/connect', 'Connect'],
  ['/app/usage', 'Usage'],
  ['/app/keys', 'Keys'],
  ['/app/members', 'Members'],
  ['/app/password', 'Password'],
] as const
const nameCharactersMax = 100
const ownerLinks = [['/app/audit', 'Audit']] as const

/** Marks a menu entry that is the page at `path`, or that the page belongs under. */
function currentOf(path: string, linked: string): Html {
  if (path === linked) return html`aria-current="page"`
  const isOfTrace = path.startsWith(tracePath) || path === '/app/compare'
  const above = isOfTrace ? '/app/traces' : path === '/app/patterns' ? '/app/logs' : undefined
  return linked === above ? html`aria-current="true"` : html``
}

function navigation({ email }: Session, path: string, { workspace, isOwner = false }: Page): Html {
  const all = isOwner ? [...links, ...ownerLinks] : links
  const shown = all.filter(([linked]) => workspace === undefined || planHasPage(workspace, linked))
  const linkTo = ([linked, name]: (typeof shown)[number]): Html =>
    html`<a href="${linked}" ${currentOf(path, linked)}>${name}</a> `
  return html`<strong>Throughline</strong>
    ${workspace === undefined ? html`` : html`<a href="/app/workspace" aria-label="Workspace ${workspace.name}">${workspace.name}</a>`}
    <nav aria-label="Pages">${shown.map(linkTo)}</nav>
    <form method="post" action="/app/sign-out">
      <span class="note">${email}</span> <button class="quiet" type="submit">Sign out</button>
    </form>`
}

/** A page without a session shows no times and may have a password field: it needs no script. */
const scriptsOf = ({ session, scripts = [] }: Page): readonly string[] =>
  session === undefined ? [] : [...commonScripts, ...scripts]

/** The place where scripts/times.js offers a choice of zone. */
const zoneChoice = html`<p class="zone note" data-zone-choice hidden>
  <label
    >Times in
    <select>
      <option value="utc">UTC</option>
      <option value="local"></option></select
  ></label>
</p>`

function layout(page: Page, path: string): Html {
  const { title, about = '', body, session, warning, isOfSeveral = false } = page
  const name = about === '' ? title : `${cut(about, nameCharactersMax)} · ${title}`
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width" />
        <title>${name} · Throughline</title>
        <link rel="stylesheet" href="/app/style.css" />
        <link rel="icon" href="/app/icon.svg" />
        ${scriptsOf(page).map((script) => html`<script type="module" src="${script}"></script>`)}
      </head>
      <body ${isOfSeveral && session !== undefined ? html`data-workspace="${session.workspaceId}"` : html``}>
        <a class="skip" href="#content">Skip to the content</a>
        <header>${session === undefined ? html`<strong>Throughline</strong>` : navigation(session, path, page)}</header>
        <main id="content">
          ${warning === undefined ? html`` : html`<p class="problem"><a href="/app/usage">${warning}</a></p>`}
          ${session === undefined ? html`` : zoneChoice}
          <h1>${title}</h1>
          ${body}
        </main>
      </body>
    </html> `
}

/** Sends a page that is never cached (it may show a secret) and never framed. */
export function sendPage(ctx: Context, status: number, page: Page): void {
  ctx.status = status
  ctx.set('Content-Security-Policy', scriptsOf(page).length === 0 ? contentPolicy : scriptPolicy)
  ctx.set('X-Frame-Options', 'DENY')
  ctx.set('Cache-Control', 'no-store')
  ctx.set('Cross-Origin-Opener-Policy', 'same-origin')
  ctx.type = 'text/html; charset=utf-8'
  const { markup } = layout(page, ctx.path)
  const { session, isOfSeveral = false } = page
  ctx.body = isOfSeveral && session !== undefined ? withWorkspace(markup, session.workspaceId) : markup
}

/** Sends a 303: the browser fetches the page with GET, so that a reload sends nothing twice. `path` is ours, not the client's. */
export function seeOther(ctx: Context, path: string): void {
  ctx.status = 303
  ctx.set('Location', path)
  ctx.set('Cache-Control', 'no-store')
  ctx.body = ''
}
