import type { SetAside } from '#src/operations/quarantine.ts'
import { readQuarantines, type Quarantined } from '#streams/sqlite/mending/quarantine.ts'
import { foldersOf } from './folders.ts'

/** What lies in the quarantine of a data folder, the oldest first. */
export const quarantinesOf = (dataFolder: string): readonly Quarantined[] =>
  readQuarantines(foldersOf(dataFolder).quarantineFolder)

/** The same as figures. What has no report is told as a damaged log of events. */
export const setAsideOf = (dataFolder: string): readonly SetAside[] =>
  quarantinesOf(dataFolder).map(({ report }) => ({ name: report?.name ?? 'log', lost: report?.lost ?? 0 }))
