import type { Context } from 'koa'
import type { Directory } from '#src/directory/create-directory.ts'
import type { Session } from '#src/directory/directory.ts'
import type { BodyBudget } from '#src/http/body.ts'
import { requireSession } from '#src/http/session.ts'
import type { Clock } from '#src/lib/clock.ts'
import { present } from '#src/lib/assert.ts'
import { html, type Html } from './html.ts'
import { sendPage } from './page.ts'
import type { SignInThrottle } from './sign-in-throttle.ts'

/** What a workspace has used in the current month (UTC), by the allowance projection. */
export type Usage = Readonly<{ spans: number; spanBytes: number; resetsAt: number }>

/** What the pages work with. */
export type AppContext = Readonly<{
  directory: Directory
  /** What links go by; undefined: as the request came. */
  baseUrl: string | undefined
  clock: Clock
  budget: BodyBudget
  throttle: SignInThrottle
  usage: ((workspaceId: Session['workspaceId']) => Promise<Usage | undefined>) | undefined
}>

/** The session of a `session` route; the router has refused everybody else. */
export function sessionHere(ctx: Context): Session {
  const session = requireSession(ctx)
  return present(session.ok ? session.value : undefined, 'a session route has a session')
}

/** A page of a signed-in person. */
export function sendSessionPage(
  ctx: Context,
  { directory }: Pick<AppContext, 'directory'>,
  title: string,
  body: Html,
  status = 200,
): void {
  const session = sessionHere(ctx)
  sendPage(ctx, status, { title, body, session, workspace: directory.workspace(session.workspaceId) })
}

export const problem = (text: string | undefined): Html =>
  text === undefined ? html`` : html`<p class="problem" role="alert">${text}</p>`
export const notice = (text: string | undefined): Html =>
  text === undefined ? html`` : html`<p class="notice" role="status">${text}</p>`

/** `2026-11-21 08:03 UTC`. */
export const formatMinute = (ms: number): string => `${new Date(ms).toISOString().slice(0, 16).replace('T', ' ')} UTC`
