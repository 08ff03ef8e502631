import { isFolded } from '../../index-store.ts'
import type { Progress } from './progress.ts'

/**
 * Readers take a build without a recent heartbeat for one that nobody folds, and so do commands. A batch may take longer than they wait: one event may
 * have 64 MiB, and Elasticsearch be busy. So before a task and while it runs, the last heartbeat of each build is repeated with the current time. Not of
 * a build that was left out when others had theirs: nobody folds it any more.
 */
export function createTellAgain(builds: () => Iterable<Pick<Progress, 'toldAt' | 'tellAgain'>>, everyMs: number) {
  // If that fails, the task will as well, or the next heartbeat, which say why.
  const again = (): Promise<unknown> => {
    const all = [...builds()]
    const lastMs = Math.max(...all.map(({ toldAt }) => toldAt()))
    const folded = all.filter(({ toldAt }) => isFolded({ at: toldAt() }, lastMs))
    return Promise.allSettled(folded.map(({ tellAgain }) => tellAgain(everyMs)))
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
