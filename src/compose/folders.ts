import { join } from 'node:path'

/** Where the embedded engines keep their files. */
export type Folders = Readonly<{
  directoryFile: string
  logFolder: string
  logFile: string
  indexFolder: string
  /** For damaged logs that were set aside. */
  quarantineFolder: string
}>

export function foldersOf(dataFolder: string): Folders {
  const logFolder = join(dataFolder, 'log')
  return {
    directoryFile: join(dataFolder, 'directory.db'),
    logFolder,
    logFile: join(logFolder, '0.db'),
    indexFolder: join(dataFolder, 'index'),
    quarantineFolder: join(dataFolder, 'quarantine'),
  }
}
