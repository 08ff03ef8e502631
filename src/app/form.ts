import { randomUUID } from 'node:crypto'
import type { Context } from 'koa'
import type { Limits } from '#src/config.ts'
import type { DirectoryView, Session } from '#src/directory/directory.ts'
import { refusal, type Refusal } from '#src/events/refusal.ts'
import { createBodyBudget, useBody, type BodyBudget } from '#src/http/body.ts'
import { clientAddress } from '#src/http/client-address.ts'
import { sessionHere, sessionOf } from '#src/http/session.ts'
import { networkOf } from '#src/lib/address-group.ts'
import { fail, type Result } from '#src/lib/result.ts'
import { html, type Html } from './html.ts'
import { shownIn } from './workspace-links.ts'

const crossSite = refusal('forbidden', 'This form was sent from another site. Open the page here and send it again.')

/** The host of an `Origin` header; undefined for `null` and anything else without a host. */
function hostOf(origin: string): string | undefined {
  return URL.canParse(origin) && /^https?:/.test(origin) ? new URL(origin).host : undefined
}

/**
 * False if a browser says that another site sent the request: by `Sec-Fetch-Site` (Fetch Metadata), or else by `Origin` (RFC 6454 §7). Programs send
 * neither, and have nobody else's cookie.
 */
function isOwnRequest(ctx: Context, baseUrl: string | undefined): boolean {
  const site = ctx.get('Sec-Fetch-Site')
  if (site !== '') return site === 'same-origin' || site === 'none'
  const origin = ctx.get('Origin')
  if (origin === '') return true
  const host = hostOf(origin)
  return host === ctx.host || (baseUrl !== undefined && host === new URL(baseUrl).host)
}

/**
 * The budget of a form's sender. Strangers cannot use up that of people who are signed in, who may want to revoke a key just then. One person, or one
 * network of strangers, holds at most half.
 */
export type FormBudgets = (ctx: Context) => BodyBudget

export function createFormBudgets(bytesMax: number): FormBudgets {
  const [ofPeople, ofStrangers] = [createBodyBudget(bytesMax), createBodyBudget(bytesMax)]
  return (ctx) => {
    const session = sessionOf(ctx)
    return session === undefined ? ofStrangers.shareOf(networkOf(clientAddress(ctx))) : ofPeople.shareOf(session.userId)
  }
}

type FormOptions = Readonly<{
  limits: Pick<Limits, 'formBytesMax' | 'bodyTimeoutMs'>
  budgets: FormBudgets
  baseUrl: string | undefined
}>

/** The fields of a form sent from our own pages or by a program; `application/x-www-form-urlencoded` (WHATWG URL §5). */
export async function readForm(
  ctx: Context,
  { limits: { formBytesMax, bodyTimeoutMs }, budgets, baseUrl }: FormOptions,
): Promise<Result<URLSearchParams, Refusal>> {
  if (!isOwnRequest(ctx, baseUrl)) return fail(crossSite)
  if (ctx.is('application/x-www-form-urlencoded') === false) {
    return fail(refusal('unsupported_media_type', 'Send the form as application/x-www-form-urlencoded.'))
  }
  const limits = { bodyBytesMax: formBytesMax, decodedBytesMax: formBytesMax, compressionRatioMax: 1, bodyTimeoutMs }
  const read = { limits, encodings: [], budget: budgets(ctx) }
  return useBody(ctx, read, ({ bytes }) => new URLSearchParams(Buffer.from(bytes).toString('utf8')))
}

export const sessionOver = refusal('not_signed_in', 'This session is over: sign in again.')

/** Like `readForm`, for a signed-in person. Checks the session again once the whole form has arrived, which may take a while. */
export async function readOwnForm(
  ctx: Context,
  options: FormOptions & Readonly<{ directory: Pick<DirectoryView, 'session'> }>,
): Promise<Result<URLSearchParams, Refusal>> {
  const form = await readForm(ctx, options)
  if (!form.ok || options.directory.session(sessionHere(ctx).id) !== undefined) return form
  return fail(sessionOver)
}

/** The typed text comes back in an address, which is encoded again in a header, and proxies limit these to 4 KiB. Longer text is left out. */
const typedCharactersMax = 2_000

/** For `Route.back`: the page at `path` with what was typed into these fields. Never secrets: addresses are stored. */
export const backWithTyped =
  (options: FormOptions, path: string, fields: readonly string[]) =>
  async (ctx: Context): Promise<string> => {
    const form = await readForm(ctx, options)
    if (!form.ok) return path
    const typed = new URLSearchParams([...form.value].filter(([name, value]) => fields.includes(name) && value !== ''))
    const address = `${path}?${typed.toString()}`
    return typed.size === 0 || address.length > typedCharactersMax ? path : address
  }

/** Shown above a form that was filled in from such an address. */
export const notSentYet = 'This was not sent: you were signed out. Look it over, and send it again.'

const sentOnce = 'once'

/** A hidden field for a form that creates something. It identifies the page, so that reloading the answer creates nothing again. */
export const onceField = (): Html => html`<input type="hidden" name="${sentOnce}" value="${randomUUID()}" />`

/** Programs send no such field, and create something with each request. */
export const onceOf = (form: URLSearchParams): string | undefined => form.get(sentOnce) || undefined

/** The origins that were typed into the one field of a form about a key, separated by blanks or commas. */
export const originsIn = (form: URLSearchParams): readonly string[] =>
  (form.get('origins') ?? '').split(/[\s,]+/).filter((origin) => origin !== '')

type Place = Pick<Session, 'workspaceId'>

/** A hidden field for a form that creates something in a workspace: the workspace that the page was shown in. */
export const placeField = ({ workspaceId }: Place): Html =>
  html`<input type="hidden" name="${shownIn}" value="${workspaceId}" />`

/**
 * The problem with a form that was shown in another workspace: its sender has changed workspace in another tab, and would create something here that
 * is meant for the other. The field is only compared; every change is made in the session's workspace. Programs send no such field.
 */
export const shownElsewhere = (form: URLSearchParams, { workspaceId }: Place): string | undefined =>
  (form.get(shownIn) ?? workspaceId) === workspaceId
    ? undefined
    : 'This was not done: since this form was opened you went to another workspace, the one named above. Look it over, and send it again if it is meant for this one.'
