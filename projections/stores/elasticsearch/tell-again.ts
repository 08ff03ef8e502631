import { isFolded, type Heartbeat, type IndexName } from '../../index-store.ts'
import type { Position } from '#src/events/envelope.ts'
import type { Place } from './build-record.ts'
import { tellProgress } from './builds.ts'
import type { StoredRecord } from './records.ts'

/** What was last told of a build, and when, by the process's own time, ms. */
type Telling = {
  readonly index: IndexName
  readonly recorded: Position
  told: Heartbeat
  toldAt: number
  record: StoredRecord | undefined
}

type TellOptions = Readonly<{ everyMs: number; now: () => number }>

/**
 * Readers take a build without a recent heartbeat for one that nobody folds, and so do commands. A batch may take longer than they wait: one event may
 * have 64 MiB, and Elasticsearch be busy. So before a task and while it runs, the last heartbeat of each build is repeated with the current time. Not of
 * a build that was left out when others had theirs: nobody folds it any more.
 */
export function createTellAgain(place: Place, builds: () => Iterable<Telling>, { everyMs, now }: TellOptions) {
  const tell = async (build: Telling): Promise<void> => {
    const { index, recorded: checkpoint, told, toldAt, record } = build
    const passedMs = now() - toldAt
    if (passedMs < everyMs) return
    const heartbeat = { ...told, at: told.at + Math.round(passedMs) }
    Object.assign(build, { told: heartbeat, toldAt: now() })
    build.record = await tellProgress(place, index, { checkpoint, heartbeat }, record)
  }
  // If that fails, the task will as well, or the next heartbeat, which say why.
  const again = (): Promise<unknown> => {
    const all = [...builds()]
    const lastMs = Math.max(...all.map(({ toldAt }) => toldAt))
    return Promise.allSettled(all.filter(({ toldAt }) => isFolded({ at: toldAt }, lastMs)).map(tell))
  }
  return async <T>(task: () => Promise<T>): Promise<T> => {
    let telling = again()
    const timer = setInterval(() => {
      telling = telling.then(again)
    }, everyMs)
    try {
      return await task()
    } finally {
      clearInterval(timer)
      await telling
    }
  }
}
