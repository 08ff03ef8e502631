import { allowanceProjection } from '#projections/allowance/fold.ts'
import { ofOneWorkspace } from '#src/app/account/other-workspace.ts'
import { createRefusePage } from '#src/app/refuse-page.ts'
import { createAppRoutes } from '#src/app/routes.ts'
import { limits, type Config } from '#src/config.ts'
import { keepingOf } from '#src/directory/plans.ts'
import { firstDayKept } from '#src/events/retention.ts'
import type { Route } from '#src/http/route.ts'
import { createAdmission } from '#src/ingest/admission.ts'
import { systemTicks } from '#src/lib/clock.ts'
import { createCursors } from '#src/query/cursor.ts'
import { createReads } from '#src/query/reads.ts'
import { createQueryRoutes } from '#src/query/routes.ts'
import { createSearches } from '#src/query/searches.ts'
import type { Engines } from './engines.ts'

/** The query routes, and the pages. */
export function queryRoutes(config: Config, { clock, secrets, directory, readerOf }: Engines): readonly Route[] {
  // `onExposed` is never called here: only browser events are sent from where a secret key would be exposed.
  const admit = createAdmission({ directory, limits, ticks: systemTicks, onExposed: () => undefined })
  const context = { readerOf, directory, clock, limits, cursors: createCursors(secrets.pepper) }
  const searches = createSearches(context)
  const reads = createReads(limits)
  return [
    ...createQueryRoutes({
      ...context,
      searches,
      reads,
      refuseExport: createRefusePage({ directory }),
      admitListing: (ctx) => admit(ctx, 'listing'),
      recordExport: ({ session: { workspaceId, userId }, ...exported }) =>
        directory.recordExport({ workspaceId, userId, ...exported }),
    }).map(ofOneWorkspace({ directory })),
    ...createAppRoutes({
      directory,
      baseUrl: config.baseUrl,
      clock,
      ticks: systemTicks,
      limits,
      secret: secrets.pepper,
      searches,
      query: reads.query,
      readerOf,
      usageKeptFrom: (workspace) => firstDayKept(keepingOf(workspace), clock(), allowanceProjection.keptDaysMin),
    }),
  ]
}
