import { workspaceIdOf, type WorkspaceId } from '#src/events/workspace-id.ts'
import type { IndexName, LostDay } from '../../index-store.ts'
import { daysIn, workspacesIn } from './build-folders.ts'
import { hasTable, transaction, type Database } from './database.ts'
import { readIfThere } from './if-there.ts'
import { metaPath } from './paths.ts'
import { areDaysNamed, readBuildRecord, writeNamed } from './build-record.ts'
import { syncDatabases } from './sync-files.ts'

// A build's record names its files, so that a file that somebody removed is noticed. A file is named once it is on the disk, and until just
// before the build removes it. So no crash or power cut makes the build miss a file that it has removed itself. An older program removes files
// without telling the record; after one has folded the build, the files that are there are named anew.

const keyOf = ({ workspaceId, day }: LostDay): string => `${workspaceId}/${day}`

/** `of`: of one workspace alone. */
function daysOf(meta: Database, table: 'days' | 'lostDays', of?: WorkspaceId): readonly LostDay[] {
  const [where, values] = of === undefined ? ['', []] : ['WHERE workspace = ?', [of]]
  return meta
    .all(`SELECT workspace, day FROM ${table} ${where} ORDER BY workspace, day`, ...values)
    .map(({ workspace, day }) => ({ workspaceId: workspaceIdOf(String(workspace)), day: String(day) }))
}

function insert(meta: Database, table: 'days' | 'lostDays', days: readonly LostDay[]): void {
  for (const { workspaceId, day } of days) meta.run(`INSERT OR IGNORE INTO ${table} VALUES (?, ?)`, workspaceId, day)
}

const without = (days: readonly LostDay[], others: readonly LostDay[]): readonly LostDay[] => {
  const known = new Set(others.map(keyOf))
  return days.filter((day) => !known.has(keyOf(day)))
}

const storedDaysOf = (folder: string, index: IndexName, workspaceId: WorkspaceId): readonly LostDay[] =>
  daysIn(folder, index, workspaceId).map((day) => ({ workspaceId, day }))

/** The days that a build has files of. */
export const storedDays = (folder: string, index: IndexName): readonly LostDay[] =>
  workspacesIn(folder, index).flatMap((workspaceId) => storedDaysOf(folder, index, workspaceId))

/** Names files that are on the disk. Within a transaction. */
export const nameDays = (meta: Database, days: readonly LostDay[]): void => insert(meta, 'days', days)

/** When a build is opened: notes the named files that are gone, and names those that are there. Within a transaction. */
export function nameDaysAnew(meta: Database, stored: readonly LostDay[]): void {
  if (areDaysNamed(meta)) noteGone(meta, stored)
  else meta.exec('DELETE FROM days')
  nameDays(meta, stored)
  writeNamed(meta)
}

/** Notes which of the named files are gone. Within a transaction. */
export const noteGone = (meta: Database, stored: readonly LostDay[]): void =>
  insert(meta, 'lostDays', without(daysOf(meta, 'days'), stored))

/** A file has been created. If the record names it already, what it held is lost. */
export const noteMade = (meta: Database, { workspaceId, day }: LostDay): void =>
  meta.run(
    'INSERT OR IGNORE INTO lostDays SELECT workspace, day FROM days WHERE workspace = ? AND day = ?',
    workspaceId,
    day,
  )

/** Forgets files, if given of one workspace, that are about to be removed, or are gone already; durable when it returns. */
export function forgetDays(meta: Database, isGone: (day: LostDay) => boolean, of?: WorkspaceId): void {
  const gone = [...daysOf(meta, 'days', of), ...daysOf(meta, 'lostDays', of)].filter(isGone)
  if (gone.length === 0) return
  transaction(meta, () => {
    for (const table of ['days', 'lostDays']) {
      for (const { workspaceId, day } of gone)
        meta.run(`DELETE FROM ${table} WHERE workspace = ? AND day = ?`, workspaceId, day)
    }
  })
  syncDatabases([meta.path], [])
}

/** The days that are noted as lost. `of`: of one workspace alone. */
export const lostDays = (meta: Database, of?: WorkspaceId): readonly LostDay[] =>
  hasTable(meta, 'lostDays') ? daysOf(meta, 'lostDays', of) : []

/** The lost days of a build, if given of one workspace, also those whose files are gone and that nobody has noted yet. */
export function missedDays(folder: string, index: IndexName, of?: WorkspaceId): readonly LostDay[] {
  const missed = readIfThere(metaPath(folder, index), (meta) => {
    if (readBuildRecord(meta) === undefined || !hasTable(meta, 'lostDays')) return undefined
    const lost = lostDays(meta, of)
    if (!areDaysNamed(meta)) return lost
    const stored = of === undefined ? storedDays(folder, index) : storedDaysOf(folder, index, of)
    return [...lost, ...without(without(daysOf(meta, 'days', of), stored), lost)]
  })
  return missed ?? []
}
