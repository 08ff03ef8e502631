import { deadLettersAfter, deadLettersSubject, type FoldVersion } from '#src/events/dead-letter.ts'
import type { Stream } from '#streams/stream.ts'
import type { Metrics, Sample } from './metrics.ts'

type Log = Pick<Stream, 'partition' | 'epoch' | 'last'>

/** How many events of each log the indexes are without, with nobody's decision: asked of the log when the figure is. */
export function observeDeadLetters(metrics: Metrics, logs: readonly Log[], folds: readonly FoldVersion[]): void {
  const count = async (log: Log, fold: FoldVersion): Promise<Sample> => {
    const letters = deadLettersAfter(await log.last(deadLettersSubject(fold)), log.epoch)
    const labels = { projection: fold.name, partition: log.partition }
    return { labels, value: letters.filter(({ state }) => state === 'open').length }
  }
  metrics.gauge(
    'throughline_dead_letters',
    'Events that an index could not take, and on which nobody has decided.',
    () => Promise.all(logs.flatMap((log) => folds.map((fold) => count(log, fold)))),
  )
}
