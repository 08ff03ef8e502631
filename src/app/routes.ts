import type { Limits } from '#src/config.ts'
import type { Directory } from '#src/directory/create-directory.ts'
import type { Route } from '#src/http/route.ts'
import type { Clock, Ticks } from '#src/lib/clock.ts'
import { createAuditRoutes } from './account/audit.ts'
import { createConnectRoutes } from './account/connect.ts'
import { createKeyRoutes } from './account/keys.ts'
import { ofOneWorkspace } from './account/other-workspace.ts'
import { createOverviewRoutes } from './account/overview.ts'
import { createPasswordRoutes } from './account/password.ts'
import { createSignInThrottle } from './account/sign-in-throttle.ts'
import { createSignInRoutes } from './account/sign-in.ts'
import { createUsageRoutes } from './account/usage.ts'
import { createAssetRoutes } from './assets.ts'
import { sessionHere, type AppContext } from './context.ts'
import { createFormBudgets } from './form.ts'
import { createMapPageRoute } from './map/map-page.ts'
import { createRefusePage } from './refuse-page.ts'
import { createLogPageRoutes } from './search/logs-page.ts'
import { createPatternPageRoute } from './search/patterns/patterns-page.ts'
import { createSessionPageRoute } from './search/sessions-page.ts'
import { createTracePageRoute } from './search/traces-page.ts'
import { createAsJsonRoutes } from './trace/as-json.ts'
import { createComparePageRoutes } from './trace/compare-page.ts'
import { createFindPageRoutes } from './trace/find-page.ts'

export type AppOptions = Readonly<{
  directory: Directory
  /** BASE_URL; undefined: links are based on the request. */
  baseUrl: string | undefined
  clock: Clock
  ticks: Ticks
  limits: AppContext['limits'] &
    Pick<
      Limits,
      | 'signInsPerMinutePerAccount'
      | 'signInsPerMinutePerAddress'
      | 'signInsPerMinutePerNetwork'
      | 'formsInFlightBytesMax'
    >
  /** Keys the throttle's table; any secret of this installation. */
  secret: string
  searches: AppContext['searches']
  query: AppContext['query']
  readerOf: AppContext['readerOf']
  usageKeptFrom: AppContext['usageKeptFrom']
}>

/** Makes the routes of search pages count as queries, like those of the API. */
const asQueries = ({ query }: AppContext, routes: readonly Route[]): readonly Route[] =>
  routes.map((route) => ({
    ...route,
    handler: (ctx) => query(ctx, sessionHere(ctx).workspaceId, async () => route.handler(ctx)),
  }))

/** Everything under /app except the log export: pages and forms for people. Scripts sign in with the same form. */
export function createAppRoutes(options: AppOptions): Route[] {
  const { directory, baseUrl, clock, ticks, limits, secret, searches, query, readerOf, usageKeptFrom } = options
  const throttle = createSignInThrottle({
    perAddress: limits.signInsPerMinutePerAddress,
    perNetwork: limits.signInsPerMinutePerNetwork,
    perAccount: limits.signInsPerMinutePerAccount,
    ticks,
    secret,
  })
  const budgets = createFormBudgets(limits.formsInFlightBytesMax)
  const own = { limits, budgets, throttle, refuse: createRefusePage({ directory }) }
  const app: AppContext = { ...own, directory, baseUrl, clock, searches, query, readerOf, usageKeptFrom }
  const routes = [
    ...createAssetRoutes(),
    ...createSignInRoutes(app),
    ...createAsJsonRoutes(app),
    ...createOverviewRoutes(app),
    ...asQueries(app, [
      createTracePageRoute(app),
      ...createLogPageRoutes(app),
      createPatternPageRoute(app),
      createSessionPageRoute(app),
      ...createFindPageRoutes(app),
      ...createComparePageRoutes(app),
      createMapPageRoute(app),
    ]),
    ...createConnectRoutes(app),
    ...createUsageRoutes(app),
    ...createKeyRoutes(app),
    ...createPasswordRoutes(app),
    ...createAuditRoutes(app),
  ]
  return routes.map(ofOneWorkspace(app))
}
