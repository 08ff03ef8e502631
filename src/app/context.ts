import type { Context } from 'koa'
import type { Limits } from '#src/config.ts'
import type { Directory } from '#src/directory/create-directory.ts'
import type { Session, Workspace } from '#src/directory/directory.ts'
import type { PartitionOf } from '#src/events/partition.ts'
import type { Refusal } from '#src/events/refusal.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import type { Route } from '#src/http/route.ts'
import { sessionHere, sessionOf } from '#src/http/session.ts'
import type { Clock } from '#src/lib/clock.ts'
import { inTime } from '#src/lib/in-time.ts'
import type { Searches, TraceSearchAnswer } from '#src/query/searches.ts'
import { readUsageAt, type Usage } from '#projections/allowance/query.ts'
import { heartbeatMaxMs, type IndexReader } from '#projections/index-store.ts'
import type { SignInThrottle } from './account/sign-in-throttle.ts'
import { allowanceWarning } from './allowance-warning.ts'
import type { FormBudgets } from './form.ts'
import { html, type Html } from './html.ts'
import { sendPage } from './page.ts'

export { sessionHere } from '#src/http/session.ts'

/** What the pages work with. */
export type AppContext = Readonly<{
  directory: Directory
  /** The base of links; undefined: taken from the request. */
  baseUrl: string | undefined
  /** Limits of forms. `recordsPerBatchMax` goes into the agents' configuration. */
  limits: Pick<Limits, 'formBytesMax' | 'bodyTimeoutMs' | 'recordsPerBatchMax'>
  clock: Clock
  budgets: FormBudgets
  throttle: SignInThrottle
  /** The searches of the API. */
  searches: Searches
  /** Runs `answer` when the workspace may run another query, or returns a refusal. */
  query: (ctx: Context, workspaceId: WorkspaceId, answer: () => Promise<Refusal | void>) => Promise<Refusal | void>
  readerOf: PartitionOf<IndexReader>
  /** The first day (`2026-11-21`) for which a workspace's usage is kept. */
  usageKeptFrom: (workspace: Workspace) => string
  /** Sends a refusal as a page. */
  refuse: NonNullable<Route['refuse']>
}>

/** The address at which programs reach this service, as far as this request shows. */
export function baseUrlOf(ctx: Context, { baseUrl }: Pick<AppContext, 'baseUrl'>): string {
  if (baseUrl !== undefined) return baseUrl
  const asked = `${ctx.protocol}://${ctx.host}`
  // A client may send any Host: one that is no address must not get into a snippet.
  return URL.canParse(asked) ? new URL(asked).origin : 'http://localhost'
}

export const isOwner = (
  { directory }: Pick<AppContext, 'directory'>,
  { workspaceId, userId }: Pick<Session, 'workspaceId' | 'userId'>,
): boolean => directory.members(workspaceId).some((member) => member.userId === userId && member.role === 'owner')

/** Whether a person belongs to more than one workspace. */
export const isOfSeveral = (
  { directory }: Pick<AppContext, 'directory'>,
  { userId }: Pick<Session, 'userId'>,
): boolean => (directory.user(userId)?.workspaceIds.length ?? 0) > 1

/** The most values of a field that a search counts. */
export const facetValuesMax = 20

/** How long a page waits for a figure that it can do without: keys must be revocable while the index is unavailable. */
export const figureTimeoutMs = 1_000

/** The workspace's usage this month; undefined if the index does not answer in time. */
export async function readUsageNow(
  { readerOf, clock }: Pick<AppContext, 'readerOf' | 'clock'>,
  workspaceId: Session['workspaceId'],
): Promise<Usage | undefined> {
  const usage = await inTime(readUsageAt(readerOf(workspaceId), workspaceId, clock()), figureTimeoutMs)
  return usage?.progress === undefined ? undefined : usage
}

/** Common to the routes of pages: they need a session, and lead a browser without one to sign-in. */
export const sessionPage = (refuse: AppContext['refuse']) =>
  ({ auth: 'session', signInPage: '/app/sign-in', refuse }) as const

export type SessionPage = Readonly<{
  title: string
  /** What the page shows, for the tab's title. */
  about?: string | undefined
  body: Html
  status?: number
  /** Paths of the page's own scripts. */
  scripts?: readonly string[]
}>

/** What a page shows about the signed-in person, if there is one. */
export function shownTo(ctx: Context, app: Pick<AppContext, 'directory'>) {
  const session = sessionOf(ctx)
  if (session === undefined) return {}
  const workspace = app.directory.workspace(session.workspaceId)
  return { session, workspace, isOwner: isOwner(app, session), isOfSeveral: isOfSeveral(app, session) }
}

/** A page of a signed-in person. */
export async function sendSessionPage(ctx: Context, app: AppContext, page: SessionPage): Promise<void> {
  const person = shownTo(ctx, app)
  const usage = await readUsageNow(app, sessionHere(ctx).workspaceId)
  const { status = 200, ...shown } = page
  sendPage(ctx, status, { ...shown, ...person, warning: allowanceWarning(person.workspace, usage) })
}

export const problemId = 'problem'
/** A message about what is wrong with the input. */
export const problem = (text: string | undefined): Html =>
  text === undefined ? html`` : html`<p class="problem" role="alert" id="${problemId}">${text}</p>`
/** Attributes of the field that a problem is about: it gets the focus and refers to the message. */
export const atFault = (isIt: boolean): Html =>
  isIt ? html`autofocus aria-invalid="true" aria-describedby="${problemId}"` : html``
export const notice = (text: string | Html | undefined): Html =>
  text === undefined ? html`` : html`<p class="notice" role="status">${text}</p>`

/** A notice for an index that is behind, or that lacks something that its operator can tell of. */
export function behindPart({ complete, position, head, lag_ms: lagMs }: TraceSearchAnswer['index']): Html {
  if (complete) return html``
  if (position > 0 && position >= head && lagMs <= heartbeatMaxMs)
    return notice(
      'The index lacks something that was sent: the server’s operator is told what by "throughline status".',
    )
  const by = lagMs > 0 ? ` by ${Math.ceil(lagMs / 1_000)} s` : ''
  return notice(`The index is behind the log${by}: the newest records may be missing.`)
}

const english = new Intl.NumberFormat('en')
/** `12,345`. */
export const inWords = (count: number): string => english.format(count)

/** `1 span`, `12,345 spans`. */
export const counted = (count: number, noun: string): string => `${inWords(count)} ${noun}${count === 1 ? '' : 's'}`
