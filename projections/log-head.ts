import { beforeAll } from '#src/events/envelope.ts'
import type { Stream } from '#streams/stream.ts'
import type { IndexReader } from './index-store.ts'

/**
 * A reader that says of an index that it has all of the log only where the log says so too: what was acknowledged a moment ago the
 * projector may not have seen yet. A log that does not answer is taken to end where the projector last saw its end.
 */
export const withLogHead = (reader: IndexReader, log: Pick<Stream, 'head'>): IndexReader => ({
  ...reader,
  async progress(projection) {
    const progress = await reader.progress(projection)
    const isBehind = progress !== undefined && progress.position < progress.head && progress.ahead === undefined
    if (progress === undefined || isBehind) return progress
    return { ...progress, head: Math.max(progress.head, await log.head().catch(() => beforeAll)) }
  },
})
