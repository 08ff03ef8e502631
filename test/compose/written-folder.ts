import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { buildName } from '#projections/rosters/build-name.ts'
import { projections } from '#projections/registry.ts'
import { createSqliteIndexWriter } from '#projections/stores/sqlite/writing/writer.ts'
import type { Folders } from '#src/compose/folders.ts'
import { limits } from '#src/config.ts'
import { present } from '#src/lib/assert.ts'
import { createSqliteStream } from '#streams/sqlite/stream.ts'
import type { Stream } from '#streams/stream.ts'
import { makeEvent } from '../support/make-event.ts'

const projection = present(projections[0], 'there is a projection')
const name = buildName(projection, 1)

export const openLog = (partition: string, file: string): Promise<Stream> =>
  createSqliteStream({ file, partition, thread: false, limits })

export async function append(stream: Stream, name: string, events: number): Promise<void> {
  for (let n = 0; n < events; n++) await stream.append([makeEvent(`${name} ${n}`)])
}

/** Appends so many events to a log, which is made where it is not there, and closes it. */
export async function writeLog(partition: string, file: string, events: number, name = partition) {
  mkdirSync(dirname(file), { recursive: true })
  const stream = await openLog(partition, file)
  await append(stream, name, events)
  await stream.close()
  return stream
}

/** Opens the index of one projection, as one of a log, and closes it when `task` is done. */
export async function withIndex(
  { indexFolder }: Folders,
  epoch: string,
  task: (writer: ReturnType<typeof createSqliteIndexWriter>, name: string) => Promise<void>,
): Promise<void> {
  const writer = createSqliteIndexWriter({ folder: indexFolder, limits })
  await writer.open(name, projection, epoch)
  await task(writer, name)
  await writer.close()
}

/** That index, when it has followed the log up to a position. */
export const indexUpTo = (folders: Folders, epoch: string, position: number): Promise<void> =>
  withIndex(folders, epoch, (writer, name) => writer.write(name, [], { epoch, position }))
