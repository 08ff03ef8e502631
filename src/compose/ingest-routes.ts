import { limits } from '#src/config.ts'
import type { Key } from '#src/directory/directory.ts'
import type { Route } from '#src/http/route.ts'
import { createBodyBudget } from '#src/http/body.ts'
import { createIngestRoutes } from '#src/ingest/routes.ts'
import { present } from '#src/lib/assert.ts'
import { systemTicks } from '#src/lib/clock.ts'
import { randomId } from '#src/lib/random-id.ts'
import type { Metrics } from '#src/operations/metrics.ts'
import { createStreamObserver } from '#src/operations/observed-stream.ts'
import type { Engines } from './engines.ts'
import { bodiesHeld } from './memory.ts'

/** The ingest routes. */
export function ingestRoutes(
  { clock, directory, streams, allowances, files }: Engines,
  metrics: Metrics,
): readonly Route[] {
  const observed = createStreamObserver(metrics)
  const onExposed = (key: Key): void => {
    directory
      .flagExposed(key, '/api/rum/v1/ingest')
      .catch((error: unknown) => console.error('a leaked key could not be flagged:', error))
  }
  return createIngestRoutes({
    directory,
    partitions: streams.map((stream, partition) => ({
      stream: observed(stream),
      gate: present(allowances[partition], 'a partition has an allowance'),
    })),
    limits,
    budget: createBodyBudget(bodiesHeld(limits.bodiesInFlightBytesMax), limits.bodyBytesMax + limits.decodedBytesMax),
    checkRoom: files?.checkRoom ?? (() => {}),
    clock,
    ticks: systemTicks,
    newId: randomId,
    onExposed,
  })
}
