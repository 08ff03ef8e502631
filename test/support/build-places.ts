import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { BuildContext } from '#projections/builds/build-place.ts'
import type { Decoders } from '#projections/folding/decoded-event.ts'
import type { IndexReader, IndexWriter } from '#projections/index-store.ts'
import type { Projection } from '#projections/projection.ts'
import { createMemoryIndexStore } from '#projections/stores/memory/store.ts'
import { createSqliteIndexReader } from '#projections/stores/sqlite/reading/reader.ts'
import { createSqliteIndexWriter } from '#projections/stores/sqlite/writing/writer.ts'
import { createMemoryStream } from '#streams/memory/stream.ts'
import type { Stream } from '#streams/stream.ts'
import { memoryContext, sqliteContext } from './build-context.ts'
import { counting, lineDecoders, mirror } from './line-projections.ts'
import { appendRandom, foldLive } from './random-log.ts'
import { limits } from '#test/support/sqlite-fixture.ts'

/** An index that is to be rebuilt, by programs that fold these projections. */
export type Place = Readonly<{
  context: (stream: Stream, workers?: number, decoders?: Decoders, projections?: readonly Projection[]) => BuildContext
  writer: () => IndexWriter
  reader: () => IndexReader
  remove: () => void
}>

/** One on each engine that needs no server, empty. */
export const buildPlaces: Readonly<Record<string, () => Place>> = {
  memory: () => {
    const store = createMemoryIndexStore()
    return {
      context: (stream, workers = 2, decoders = lineDecoders, projections = [counting, mirror]) =>
        memoryContext({ stream, workers, decoders, projections }, store),
      writer: () => store.writer,
      reader: () => store.reader,
      remove: () => {},
    }
  },
  sqlite: () => {
    const folder = mkdtempSync(join(tmpdir(), 'throughline-rebuild-'))
    return {
      context: (stream, workers = 2, decoders = lineDecoders, projections = [counting, mirror]) =>
        sqliteContext({ stream, workers, decoders, projections }, folder),
      writer: () => createSqliteIndexWriter({ folder, limits }),
      reader: () => createSqliteIndexReader({ folder, limits }),
      remove: () => rmSync(folder, { recursive: true }),
    }
  },
}

export async function withWriterOf<T>(place: Place, task: (writer: IndexWriter) => Promise<T>): Promise<T> {
  const writer = place.writer()
  try {
    return await task(writer)
  } finally {
    await writer.close()
  }
}

/** A place with an index of so many events of a log. */
export async function foldedPlace(
  create: () => Place,
  events: number,
): Promise<Readonly<{ stream: Stream; place: Place; context: BuildContext }>> {
  const stream = createMemoryStream({ partition: '0' })
  const place = create()
  const context = place.context(stream)
  await appendRandom(stream, 1, events)
  await foldLive(context)
  return { stream, place, context }
}
