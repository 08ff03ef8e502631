import { limits } from '#src/config.ts'
import type { Directory } from '#src/directory/create-directory.ts'
import type { Key } from '#src/directory/directory.ts'
import type { Route } from '#src/http/route.ts'
import { createBodyBudget } from '#src/http/body.ts'
import { createIngestRoutes } from '#src/ingest/routes.ts'
import { present } from '#src/lib/assert.ts'
import { systemTicks, type Clock } from '#src/lib/clock.ts'
import { randomId } from '#src/lib/random-id.ts'
import type { Metrics } from '#src/operations/metrics.ts'
import { createStreamObserver } from '#src/operations/observed-stream.ts'
import type { Engines } from './engines.ts'
import { bodiesHeld } from './memory.ts'
import { createRetryReport } from './troubles.ts'

/** Flags a leaked key. That may fail with each request that presents it, as on a full disk, so a failure is told without repeating it. */
export function flagsExposed(directory: Pick<Directory, 'flagExposed'>, clock: Clock): (key: Key) => void {
  const onFailure = createRetryReport(clock, 'a leaked key could not be flagged; trying again where it is sent again')
  return (key) => void directory.flagExposed(key, '/api/rum/v1/ingest').catch(onFailure)
}

/** The ingest routes. */
export function ingestRoutes(
  { clock, directory, streams, allowances, files }: Engines,
  metrics: Metrics,
): readonly Route[] {
  const observed = createStreamObserver(metrics)
  return createIngestRoutes({
    directory,
    partitions: streams.map((stream, partition) => ({
      stream: observed(stream),
      gate: present(allowances[partition], 'a partition has an allowance'),
    })),
    limits,
    budget: createBodyBudget(bodiesHeld(limits.bodiesInFlightBytesMax), limits.bodyBytesMax + limits.decodedBytesMax),
    checkRoom: files?.checkRoom,
    clock,
    ticks: systemTicks,
    newId: randomId,
    onExposed: flagsExposed(directory, clock),
  })
}
