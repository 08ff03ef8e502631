import type { Context } from 'koa'
import type { Limits } from '#src/config.ts'
import type { Directory } from '#src/directory/create-directory.ts'
import type { Session, Workspace } from '#src/directory/directory.ts'
import type { PartitionOf } from '#src/events/partition.ts'
import type { Refusal } from '#src/events/refusal.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import type { BodyBudget } from '#src/http/body.ts'
import type { Route } from '#src/http/route.ts'
import { sessionHere } from '#src/http/session.ts'
import type { Clock } from '#src/lib/clock.ts'
import { inTime } from '#src/lib/in-time.ts'
import type { Searches, TraceSearchAnswer } from '#src/query/searches.ts'
import { readUsageAt, type Usage } from '#projections/allowance/query.ts'
import type { IndexReader } from '#projections/index-store.ts'
import type { SignInThrottle } from './account/sign-in-throttle.ts'
import { allowanceWarning } from './allowance-warning.ts'
import { html, type Html } from './html.ts'
import { sendPage } from './page.ts'

export { sessionHere } from '#src/http/session.ts'

/** What the pages work with. */
export type AppContext = Readonly<{
  directory: Directory
  /** What links go by; undefined: as the request came. */
  baseUrl: string | undefined
  /** Of forms; and of records or spans in a request: agents are told to send no more. */
  limits: Pick<Limits, 'formBytesMax' | 'bodyTimeoutMs' | 'recordsPerBatchMax'>
  clock: Clock
  budget: BodyBudget
  throttle: SignInThrottle
  /** The searches of the API, for pages that show them. */
  searches: Searches
  /** Answers when it is the turn of a query of the workspace, or refuses. */
  query: (ctx: Context, workspaceId: WorkspaceId, answer: () => Promise<Refusal | void>) => Promise<Refusal | void>
  readerOf: PartitionOf<IndexReader>
  /** The first day (`2026-11-21`) of which a workspace's usage is kept. */
  usageKeptFrom: (workspace: Workspace) => string
  /** How pages refuse. */
  refuse: NonNullable<Route['refuse']>
}>

/** Where programs reach this service, as far as this request can tell. */
export function baseUrlOf(ctx: Context, { baseUrl }: Pick<AppContext, 'baseUrl'>): string {
  if (baseUrl !== undefined) return baseUrl
  const asked = `${ctx.protocol}://${ctx.host}`
  // A client may send any Host; what is no address must not be in a snippet.
  return URL.canParse(asked) ? new URL(asked).origin : 'http://localhost'
}

export const isOwner = (
  { directory }: Pick<AppContext, 'directory'>,
  { workspaceId, userId }: Pick<Session, 'workspaceId' | 'userId'>,
): boolean => directory.members(workspaceId).some((member) => member.userId === userId && member.role === 'owner')

/** Whether a person has more workspaces than the one that they are in. */
export const isOfSeveral = (
  { directory }: Pick<AppContext, 'directory'>,
  { userId }: Pick<Session, 'userId'>,
): boolean => (directory.user(userId)?.workspaceIds.length ?? 0) > 1

/** So many values of a field a search counts at most. */
export const facetValuesMax = 20

/** How long a page waits for a figure that it can do without: keys must be revocable while the index is out of reach. */
export const figureTimeoutMs = 1_000

/** What the workspace has used this month; undefined where the index cannot say so soon. */
export async function readUsageNow(
  { readerOf, clock }: Pick<AppContext, 'readerOf' | 'clock'>,
  workspaceId: Session['workspaceId'],
): Promise<Usage | undefined> {
  const usage = await inTime(readUsageAt(readerOf(workspaceId), workspaceId, clock()), figureTimeoutMs)
  return usage?.progress === undefined ? undefined : usage
}

/** What routes of pages have in common: whoever is signed in sees them, and a browser of anybody else is led to sign in. */
export const sessionPage = (refuse: AppContext['refuse']) =>
  ({ auth: 'session', signInPage: '/app/sign-in', refuse }) as const

export type SessionPage = Readonly<{
  title: string
  /** What of it this page shows; in the title of the tab. */
  about?: string | undefined
  body: Html
  status?: number
  /** Addresses of the page's own scripts, which are ours. */
  scripts?: readonly string[]
}>

/** A page of a signed-in person. */
export async function sendSessionPage(ctx: Context, app: AppContext, page: SessionPage): Promise<void> {
  const session = sessionHere(ctx)
  const workspace = app.directory.workspace(session.workspaceId)
  const usage = await readUsageNow(app, session.workspaceId)
  const warning = allowanceWarning(workspace, usage)
  const { status = 200, ...shown } = page
  const own = { isOwner: isOwner(app, session), isOfSeveral: isOfSeveral(app, session) }
  sendPage(ctx, status, { ...shown, session, workspace, warning, ...own })
}

export const problemId = 'problem'
/** What is wrong with what was sent. */
export const problem = (text: string | undefined): Html =>
  text === undefined ? html`` : html`<p class="problem" role="alert" id="${problemId}">${text}</p>`
/** Attributes of the field that the problem of a page is about: one begins there, and is told why. */
export const atFault = (isIt: boolean): Html =>
  isIt ? html`autofocus aria-invalid="true" aria-describedby="${problemId}"` : html``
export const notice = (text: string | Html | undefined): Html =>
  text === undefined ? html`` : html`<p class="notice" role="status">${text}</p>`

/** Said where the index does not have everything yet. */
export const behindPart = ({
  complete,
  lag_ms: lagMs,
}: Pick<TraceSearchAnswer['index'], 'complete' | 'lag_ms'>): Html =>
  complete
    ? html``
    : html`<p class="notice" role="status">
        The index is behind the log${lagMs > 0 ? ` by ${Math.ceil(lagMs / 1_000)} s` : ''}: the newest records may be
        missing.
      </p>`

const english = new Intl.NumberFormat('en')
/** `12,345`. */
export const inWords = (count: number): string => english.format(count)

/** `1 span`, `12,345 spans`. */
export const counted = (count: number, noun: string): string => `${inWords(count)} ${noun}${count === 1 ? '' : 's'}`
