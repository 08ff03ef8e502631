import type { IndexReader } from '#projections/index-store.ts'
import { projections } from '#projections/registry.ts'
import { buildVersion } from '#projections/rosters/build-name.ts'
import { limits } from '#src/config.ts'
import { createHttpApp } from '#src/http/app.ts'
import { createHttpServer, type HttpServer } from '#src/http/server.ts'
import { systemTicks } from '#src/lib/clock.ts'
import { observeDeadLetters } from '#src/operations/dead-letters.ts'
import { observeDisk } from '#src/operations/disk.ts'
import { observeIndexes } from '#src/operations/index-lag.ts'
import type { Metrics } from '#src/operations/metrics.ts'
import { observeProcess } from '#src/operations/process.ts'
import { observeQuarantine } from '#src/operations/quarantine.ts'
import { observeRetention } from '#src/operations/retention.ts'
import { createOperationsRoutes } from '#src/operations/routes.ts'
import type { Engines } from './engines.ts'
import { createFailureReport } from './failure.ts'
import { openFilesMax } from './open-files.ts'

type Options = Readonly<{ engines: Engines; metrics: Metrics; isReady: () => boolean }>

const liveVersionOf =
  (reader: IndexReader | undefined) =>
  async (projection: string): Promise<number | undefined> => {
    const progress = await reader?.progress(projection)
    return progress && buildVersion(progress.index)
  }

/** The listener for health and metrics of a worker, not listening yet. */
export function createOperationsHttp({ engines, metrics, isReady }: Options): HttpServer {
  const { readers, streams, clock, projector, files } = engines
  observeProcess(metrics, openFilesMax)
  observeIndexes(metrics, {
    indexes: readers.map((reader, partition) => ({ partition: String(partition), reader })),
    projections: projections.map(({ name }) => name),
    clock,
  })
  observeDeadLetters(
    metrics,
    streams.map((log, partition) => ({ log, liveVersion: liveVersionOf(readers[partition]) })),
    projections,
  )
  observeRetention(metrics, streams, projector)
  if (files !== undefined) {
    observeQuarantine(metrics, files)
    observeDisk(metrics, files.folder)
  }
  const routes = createOperationsRoutes({ metrics, isReady })
  const app = createHttpApp({
    routes,
    random: Math.random,
    trustedProxies: 0,
    report: createFailureReport(systemTicks),
  })
  return createHttpServer(app.callback(), { limits })
}
