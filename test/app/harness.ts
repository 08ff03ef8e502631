import { randomBytes } from 'node:crypto'
import { createServer, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { createAppRoutes, type AppOptions } from '#src/app/routes.ts'
import type { Directory } from '#src/directory/create-directory.ts'
import { keepingOf } from '#src/directory/plans.ts'
import { createSessionStore } from '#src/directory/session-store.ts'
import { firstDayKept } from '#src/events/retention.ts'
import { createHttpApp } from '#src/http/app.ts'
import { createSessionMiddleware, sessionOf } from '#src/http/session.ts'
import { limits as allLimits, type Limits } from '#src/config.ts'
import { createCursors } from '#src/query/cursor.ts'
import { createReads } from '#src/query/reads.ts'
import { createSearches } from '#src/query/searches.ts'
import { buildName } from '#projections/rosters/build-name.ts'
import { allowanceProjection } from '#projections/allowance/fold.ts'
import type { IndexReader } from '#projections/index-store.ts'
import type { DecodedEvent } from '#projections/projection.ts'
import { projections } from '#projections/registry.ts'
import { createMemoryIndexStore } from '#projections/stores/memory/store.ts'
import type { Stream } from '#streams/stream.ts'
import { foldIntoStore } from '#test/projections/traces/every-store.ts'
import { limits, openDirectory, type Opened } from '../directory/harness.ts'

export type Site = Opened &
  Readonly<{
    url: string
    failures: unknown[]
    reader: IndexReader
    /** Folds events into the indexes that the pages read, and says that these are at the log's head. */
    index: (...events: readonly DecodedEvent[]) => Promise<void>
    close: () => Promise<void>
  }>

type Options = Partial<Pick<AppOptions, 'baseUrl' | 'ticks'>> &
  Readonly<{ opened?: Opened; perMinute?: number; reader?: IndexReader; limits?: Partial<Limits> }>

/** The pages over a listening server, with a route that shows the session of a request. */
export async function openSite(options: Options = {}): Promise<Site> {
  const opened = options.opened ?? (await openDirectory())
  const { directory, clock } = opened
  const failures: unknown[] = []
  const perMinute = options.perMinute ?? 1_000
  const store = createMemoryIndexStore()
  const readerOf = (): IndexReader => options.reader ?? store.reader
  const searches = createSearches({ readerOf, directory, clock, limits: allLimits, cursors: createCursors('a secret') })
  const app = createHttpApp({
    routes: [
      ...createAppRoutes({
        directory,
        clock,
        ticks: options.ticks ?? clock,
        baseUrl: options.baseUrl,
        secret: 'a secret for the throttle',
        limits: {
          ...allLimits,
          ...options.limits,
          signInsPerMinutePerAccount: perMinute,
          signInsPerMinutePerAddress: 2 * perMinute,
        },
        searches,
        query: createReads({ ...allLimits, ...options.limits }).query,
        readerOf,
        usageKeptFrom: (workspace) => firstDayKept(keepingOf(workspace), clock(), allowanceProjection.keptDaysMin),
      }),
      {
        method: 'GET',
        path: '/who',
        auth: 'session',
        handler: (ctx) => {
          ctx.body = sessionOf(ctx)
        },
      },
    ],
    session: createSessionMiddleware({
      keys: ['a key that signs the cookies of a test'],
      secure: options.baseUrl?.startsWith('https:') === true ? true : undefined,
      store: createSessionStore(directory),
      cookieMaxAgeMs: limits.sessionAbsoluteMs,
      newId: () => randomBytes(24).toString('base64url'),
    }),
    random: Math.random,
    trustedProxies: 1,
    report: (failure) => failures.push(failure.error),
  })
  const callback = app.callback()
  // Else a busy test finds the connection that it was about to use again just closed.
  const server: Server = createServer(
    { keepAliveTimeout: 0 },
    (incoming, outgoing) => void callback(incoming, outgoing),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    ...opened,
    url: `http://127.0.0.1:${port}`,
    failures,
    reader: readerOf(),
    index: async (...events) => {
      for (const projection of projections) {
        const handled = events.filter(({ event }) => projection.handles.includes(event.type as never))
        await foldIntoStore(store, projection, handled)
        const position = Math.max(0, ...events.map(({ event }) => event.position))
        const at = clock()
        await store.writer.heartbeat(buildName(projection, 1), { position, head: position, at, caughtUpAt: at })
      }
    },
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      await directory.close()
    },
  }
}

export type Answer = Readonly<{ status: number; headers: Headers; text: string; location: string | null }>

/** A browser as far as it matters here: it keeps cookies and follows nothing. */
export type Browser = Readonly<{
  get: (path: string, headers?: Readonly<Record<string, string>>) => Promise<Answer>
  post: (
    path: string,
    fields: Readonly<Record<string, string>>,
    headers?: Readonly<Record<string, string>>,
  ) => Promise<Answer>
  cookies: Map<string, string>
}>

type Raw = Readonly<{ method: string; headers: Readonly<Record<string, string>>; body?: string }>

/** Not fetch: it says `Sec-Fetch-Mode: cors` of itself, and a browser that opens a page says `navigate`. */
function send(url: string, { method, headers, body }: Raw): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { method, headers }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () => {
        const pairs = response.rawHeaders.flatMap((name, at) =>
          at % 2 === 0 ? [[name, response.rawHeaders[at + 1]]] : [],
        )
        const answered = new Headers(pairs as [string, string][])
        const text = Buffer.concat(chunks).toString('utf8')
        resolve({ status: response.statusCode ?? 0, headers: answered, text, location: answered.get('location') })
      })
    })
    outgoing.on('error', reject)
    outgoing.end(body)
  })
}

export function createBrowser({ url }: Pick<Site, 'url'>, from = '192.0.2.1'): Browser {
  const cookies = new Map<string, string>()
  async function open(path: string, raw: Raw): Promise<Answer> {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const own = { accept: 'text/html', 'sec-fetch-mode': 'navigate', 'x-forwarded-for': from }
    const headers = { ...own, ...(cookie === '' ? {} : { cookie }), ...raw.headers }
    const answer = await send(url + path, { ...raw, headers })
    for (const line of answer.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      if (value === '') cookies.delete(name)
      else cookies.set(name, value)
    }
    return answer
  }
  const formType = { 'content-type': 'application/x-www-form-urlencoded' }
  return {
    cookies,
    get: (path, headers = {}) => open(path, { method: 'GET', headers }),
    post: (path, fields, headers = {}) =>
      open(path, {
        method: 'POST',
        headers: { ...formType, ...headers },
        body: new URLSearchParams(fields).toString(),
      }),
  }
}

export const password = 'a long password'

/** A log whose readers get what is there a moment later: a process that follows it is behind by that. */
export const slowToRead = (stream: Stream): Stream => ({
  ...stream,
  read: async (after, max) => {
    const events = await stream.read(after, max)
    await setTimeout(100)
    return events
  },
})

/** A person with a workspace of their own. */
export async function createPerson(directory: Directory, email: string, workspaceName: string) {
  const workspace = await directory.createWorkspace({ name: workspaceName, plan: 'pro' })
  if (!workspace.ok) throw new Error(workspace.error.detail)
  const user = await directory.createUser({ email, password, workspaceId: workspace.value.id, role: 'owner' })
  if (!user.ok) throw new Error(user.error.detail)
  return { workspace: workspace.value, user: user.value }
}

/** The field that has the focus as a page opens, says that it is wrong and is told by the page's problem why. */
export function faultIn(text: string): string | undefined {
  const [tag = ''] = /<input\b[^>]*\bautofocus\b[^>]*>/.exec(text) ?? []
  if (!tag.includes('aria-invalid="true" aria-describedby="problem"')) return undefined
  return /role="alert" id="problem"/.test(text) ? /name="([^"]*)"/.exec(tag)?.[1] : undefined
}
