import { isFolded, type Heartbeat } from '../../../index-store.ts'
import type { Database } from '../database.ts'
import { writeProgress } from '../build-record.ts'

/** The last heartbeat of a build, and when it was written, by the process's own time, ms. */
export type Told = Readonly<{ progress: Heartbeat; atMs: number }>
type Telling = { readonly meta: Database; told: Told | undefined }

/**
 * Readers take a build without a recent heartbeat for one that nobody folds. A batch may take longer than they wait: one event may have 64 MiB, and
 * workspaces have a file for each day. So while a batch is loaded or written, or expired days are dropped, the last heartbeat is repeated with the
 * current time.
 */
export function createTellAgain(builds: () => Iterable<Telling>, everyMs: number) {
  let lastMs = performance.now()
  return {
    tell(build: Telling, progress: Heartbeat): void {
      writeProgress(build.meta, progress)
      lastMs = performance.now()
      build.told = { progress, atMs: lastMs }
    },
    /** A batch, its loading, or a drop of days begins. Builds that nobody folds any more are left out. */
    begin(): void {
      const nowMs = performance.now()
      for (const build of builds())
        if (build.told !== undefined && !isFolded({ at: build.told.atMs }, nowMs)) build.told = undefined
    },
    /** Called within it. */
    again(): void {
      const nowMs = performance.now()
      if (nowMs - lastMs < everyMs) return
      lastMs = nowMs
      for (const build of builds()) {
        if (build.told === undefined) continue
        const { progress, atMs } = build.told
        const now = { ...progress, at: progress.at + (nowMs - atMs) }
        writeProgress(build.meta, now)
        build.told = { progress: now, atMs: nowMs }
      }
    },
  }
}
