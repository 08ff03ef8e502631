import { deadLettersAfter, deadLettersSubject, type FoldVersion } from '#src/events/dead-letter.ts'
import { inTime } from '#src/lib/in-time.ts'
import type { Position } from '#src/events/envelope.ts'
import type { Stream } from '#streams/stream.ts'
import type { Metrics, Sample } from './metrics.ts'

/** `liveVersion`: the version of the index of a projection that readers use. */
type Observed = Readonly<{
  log: Pick<Stream, 'partition' | 'epoch' | 'last'>
  liveVersion: (projection: string) => Promise<number | undefined>
}>

/** How long an index may take to say its version. After that, only the letters of the version that is folded are told. */
const liveTimeoutMs = 1_500

/**
 * How many events of each log are missing in indexes and await a decision; read from the log at each scrape. Until an upgrade has caught up, readers
 * use an index of another version than the one that is folded: the letters of both count, an event once.
 */
export function observeDeadLetters(metrics: Metrics, logs: readonly Observed[], folds: readonly FoldVersion[]): void {
  const openOf = async ({ log }: Observed, fold: FoldVersion): Promise<readonly Position[]> => {
    const letters = deadLettersAfter(await log.last(deadLettersSubject(fold)), log.epoch)
    return letters.filter(({ state }) => state === 'open').map(({ position }) => position)
  }
  const count = async (observed: Observed, { name, version }: FoldVersion): Promise<Sample> => {
    const versions = new Set([version, (await inTime(observed.liveVersion(name), liveTimeoutMs)) ?? version])
    const open = await Promise.all([...versions].map((one) => openOf(observed, { name, version: one })))
    return { labels: { projection: name, partition: observed.log.partition }, value: new Set(open.flat()).size }
  }
  metrics.gauge(
    'throughline_dead_letters',
    'Events that an index could not take, and on which nobody has decided.',
    () => Promise.all(logs.flatMap((log) => folds.map((fold) => count(log, fold)))),
  )
}
