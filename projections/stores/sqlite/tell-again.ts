import { isFolded, type Heartbeat } from '../../index-store.ts'
import type { Database } from './database.ts'
import { writeProgress } from './meta.ts'

/** What readers were told of a build last, and when, by the process's own time, ms. */
export type Told = Readonly<{ progress: Heartbeat; atMs: number }>
type Telling = { readonly meta: Database; told: Told | undefined }

/**
 * Readers take a build without a heartbeat for one that nobody folds, and a batch may take longer than they wait: one event may have
 * 64 MiB, and new workspaces a file each. Within it they are told the same again, and that it is still so.
 */
export function createTellAgain(builds: () => Iterable<Telling>, everyMs: number) {
  let lastMs = performance.now()
  return {
    tell(build: Telling, progress: Heartbeat): void {
      writeProgress(build.meta, progress)
      lastMs = performance.now()
      build.told = { progress, atMs: lastMs }
    },
    /** A batch begins: of a build that nobody folds any more it says nothing. */
    begin(): void {
      const nowMs = performance.now()
      for (const build of builds())
        if (build.told !== undefined && !isFolded({ at: build.told.atMs }, nowMs)) build.told = undefined
    },
    /** Some of it is done. */
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
