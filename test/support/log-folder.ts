import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { limits } from '#src/config.ts'
import { createSqliteStream, type SqliteStreamOptions } from '#streams/sqlite/stream.ts'
import type { Stream } from '#streams/stream.ts'

/** A temporary folder with one log in it. */
export type LogFolder = Readonly<{
  folder: string
  file: string
  open(options?: Partial<SqliteStreamOptions>): Promise<Stream>
  /** Runs SQL on the log's file beside whoever has it open. */
  sql(text: string): void
  remove(): Promise<void>
}>

export async function makeLogFolder(): Promise<LogFolder> {
  const folder = await mkdtemp(join(tmpdir(), 'throughline-log-'))
  const file = join(folder, 'log.db')
  return {
    folder,
    file,
    open: (options = {}) => createSqliteStream({ file, partition: '0', thread: false, limits, ...options }),
    sql: (text) => {
      const database = new DatabaseSync(file, { timeout: 2_000 })
      database.exec(text)
      database.close()
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}
