import { existsSync } from 'node:fs'
import { projections } from '#projections/registry.ts'
import { createSqliteIndexReader } from '#projections/stores/sqlite/reader.ts'
import { createSqliteStream, openSqliteStreamReader } from '#streams/sqlite/stream.ts'
import { runCli } from './cli/run-cli.ts'
import { foldersOf } from './compose-folders.ts'
import { limits, plans } from './config.ts'

/** The command line over the embedded engines, beside a server that may be running. Its exit code. */
export function composeCli(argv: readonly string[]): Promise<number> {
  return runCli(argv, process, {
    plans,
    limits,
    projections: projections.map(({ name }) => name),
    openDirectoryStream: async (dataFolder) => {
      const { directoryFile } = foldersOf(dataFolder)
      const streamLimits = {
        appendQueueEventsMax: 64,
        appendQueueBytesMax: 1_048_576,
        appendBatchEventsMax: 64,
        appendBatchBytesMax: 1_048_576,
      }
      return createSqliteStream({ file: directoryFile, partition: 'directory', thread: false, limits: streamLimits })
    },
    openLog: async (dataFolder) => {
      const { logFile } = foldersOf(dataFolder)
      return existsSync(logFile) ? openSqliteStreamReader({ file: logFile, partition: '0' }) : undefined
    },
    openIndexes: async (dataFolder) => {
      const { indexFolder } = foldersOf(dataFolder)
      return existsSync(indexFolder) ? createSqliteIndexReader({ folder: indexFolder, limits }) : undefined
    },
  })
}
