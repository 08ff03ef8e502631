import { beforeAll } from '#src/events/envelope.ts'
import type { Stream } from '#streams/stream.ts'
import type { IndexReader } from '../index-store.ts'

/**
 * A reader that calls an index complete only if the log agrees: the projector may not have seen yet what was acknowledged a moment ago. If the
 * log does not answer, it counts as ending where the projector last saw its end.
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
