import { existsSync, statSync } from 'node:fs'
import { seenBy, type StoredBuild } from '#projections/index-store.ts'
import { projections } from '#projections/registry.ts'
import { storedBuilds } from '#projections/stores/sqlite/build-folders.ts'
import type { Position } from '#src/events/envelope.ts'
import { PermanentError } from '#src/lib/failure.ts'
import type { LogFile } from '#streams/sqlite/database.ts'
import type { Verdict } from '#streams/sqlite/mending/examine.ts'
import type { Quarantined } from '#streams/sqlite/mending/quarantine.ts'
import { openSqliteStreamReader } from '#streams/sqlite/stream.ts'
import type { Folders } from './folders.ts'

// Indexes are folded anew from whatever log stands beside them. Where that is not the log they were folded from, they hold the only copy of
// what that one said: they are not let go of unless somebody says so.

/** The builds of a data folder; those of a projection that cannot be read are left out, which is for who folds them to say. */
function buildsIn({ indexFolder }: Folders): readonly StoredBuild[] {
  return projections.flatMap(({ name }) => {
    try {
      return storedBuilds(indexFolder, name)
    } catch {
      return []
    }
  })
}

const foldedBy = (builds: readonly StoredBuild[]): Position =>
  Math.max(0, ...builds.flatMap(({ checkpoint, heartbeat }) => [checkpoint, heartbeat.position]))

/** How far the indexes have had any log. */
const foldedOf = (folders: Folders): Position => foldedBy(buildsIn(folders))

/** How far the indexes have seen the log of an epoch, or of any where it is not known. */
export function seenOf(folders: Folders, epoch: string | undefined): Position {
  const builds = buildsIn(folders).filter((build) => epoch === undefined || build.epoch === epoch)
  return Math.max(0, ...builds.map(seenBy))
}

/** The epochs of the logs that the indexes have been folded from. */
export const epochsBeside = (folders: Folders): readonly string[] => [
  ...new Set(buildsIn(folders).map(({ epoch }) => epoch)),
]

function refuse(folders: Folders, found: string): PermanentError {
  const { logFile, indexFolder } = folders
  const hint =
    `${found}, and the indexes hold what the log before it said, up to position ${foldedOf(folders)}: put that one back from a backup; ` +
    `or, to go on without what it held, move the indexes away (mv '${indexFolder}' '${indexFolder}.old') and start again`
  return new PermanentError({ operation: 'start', subject: logFile, hint })
}

/** Refuses what is to take the place of a damaged log, `next`, where that was emptied, or nothing of it can be read. */
export async function checkKept(folders: Folders, next: LogFile): Promise<void> {
  if (foldedOf(folders) === 0) return
  if (statSync(folders.logFile).size === 0) throw refuse(folders, 'it was emptied')
  const stream = await openSqliteStreamReader(next)
  try {
    if ((await stream.head()) === 0) throw refuse(folders, 'nothing of it can be read')
  } finally {
    await stream.close()
  }
}

/**
 * Refuses a log that no index is of. The indexes of a damaged one may still be there when its successor, made of what could be read of
 * it, has none yet: it says which that was, and so do the quarantines of a program that did not write that into it yet.
 */
export function checkOwnLog(folders: Folders, verdict: Verdict, quarantines: readonly Quarantined[]): void {
  // Who opens it refuses that.
  if (verdict.kind === 'absent' && existsSync(folders.directoryFile)) return
  const builds = buildsIn(folders)
  if (foldedBy(builds) === 0) return
  if (verdict.kind !== 'sound') throw refuse(folders, 'nothing is in it')
  const { epoch, formers } = verdict
  const isSuccessor = quarantines.some(({ report }) => report?.epoch === epoch)
  const own: ReadonlySet<string> = new Set([epoch, ...formers])
  if (isSuccessor || builds.some((build) => own.has(build.epoch))) return
  throw refuse(folders, 'it is another log')
}
