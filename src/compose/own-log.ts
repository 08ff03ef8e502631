import { existsSync, statSync } from 'node:fs'
import { foldedBy, seenBy, type StoredBuild } from '#projections/index-store.ts'
import { projectionNames } from '#projections/names.ts'
import { storedBuilds } from '#projections/stores/sqlite/build-folders.ts'
import type { Position } from '#src/events/envelope.ts'
import { PermanentError } from '#src/lib/failure.ts'
import { shellQuote } from '#src/lib/shell-quote.ts'
import type { LogFile } from '#streams/sqlite/log-file.ts'
import type { Verdict } from '#streams/sqlite/mending/examine.ts'
import type { Quarantined } from '#streams/sqlite/mending/quarantine.ts'
import { openSqliteStreamReader } from '#streams/sqlite/stream.ts'
import type { Folders } from './folders.ts'

// Indexes are rebuilt from whatever log is beside them. If that is not the log they were built from, they are the only copy of what it
// said, and are kept unless somebody explicitly says otherwise.

/** The builds of a data folder, without those of an unreadable projection: whoever folds them reports that. */
function buildsIn({ indexFolder }: Folders): readonly StoredBuild[] {
  return projectionNames.flatMap((name) => {
    try {
      return storedBuilds(indexFolder, name)
    } catch {
      return []
    }
  })
}

/** How far the indexes have read any log. */
const foldedOf = (folders: Folders): Position => Math.max(0, ...buildsIn(folders).map(foldedBy))

/** How far the indexes have read the log of an epoch, or of any if the epoch is unknown. */
export function seenOf(folders: Folders, epoch: string | undefined): Position {
  const builds = buildsIn(folders).filter((build) => epoch === undefined || build.epoch === epoch)
  return Math.max(0, ...builds.map(seenBy))
}

/** The epochs of the logs the indexes were built from. */
export const epochsBeside = (folders: Folders): readonly string[] => [
  ...new Set(buildsIn(folders).map(({ epoch }) => epoch)),
]

function refuse(folders: Folders, found: string): PermanentError {
  const { log, indexFolder } = folders
  const hint =
    `${found}, and the indexes hold what the log before it said, up to position ${foldedOf(folders)}: put that one back from a backup; ` +
    `or, to go on without what it held, move the indexes away (mv ${shellQuote(indexFolder)} ${shellQuote(`${indexFolder}.old`)}) and start again`
  return new PermanentError({ operation: 'start', subject: log.file, hint })
}

/** Refuses the replacement of a damaged log, `next`, if the log was emptied, or nothing of it can be read. */
export async function checkKept(folders: Folders, next: LogFile): Promise<void> {
  if (foldedOf(folders) === 0) return
  if (statSync(folders.log.file).size === 0) throw refuse(folders, 'it was emptied')
  const stream = await openSqliteStreamReader(next)
  try {
    if ((await stream.head()) === 0) throw refuse(folders, 'nothing of it can be read')
  } finally {
    await stream.close()
  }
}

/**
 * Refuses a log that no index was built from. The indexes of a damaged log may still be there while its successor, made from what could be
 * read of it, has none yet. The successor names the damaged log; for older programs, which did not write that, the quarantine does.
 */
export function checkOwnLog(folders: Folders, verdict: Verdict, quarantines: readonly Quarantined[]): void {
  // Opening it will refuse that.
  if (verdict.kind === 'absent' && existsSync(folders.directory.file)) return
  const builds = buildsIn(folders)
  if (builds.every((build) => foldedBy(build) === 0)) return
  if (verdict.kind !== 'sound') throw refuse(folders, 'nothing is in it')
  const { epoch, formers } = verdict
  const isSuccessor = quarantines.some(({ report }) => report?.epoch === epoch)
  const own: ReadonlySet<string> = new Set([epoch, ...formers])
  if (isSuccessor || builds.some((build) => own.has(build.epoch))) return
  throw refuse(folders, 'it is another log')
}
