import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Digest } from '#projections/index-audit.ts'
import type { IndexName } from '#projections/index-store.ts'
import { createSqliteIndexAudit } from '#projections/stores/sqlite/auditing/audit.ts'
import { createSqliteIndexWriter } from '#projections/stores/sqlite/writing/writer.ts'
import { acme, day, index, openFixture } from './index-fixture.ts'
import { openPathsOf } from './open-paths.ts'

export const limits = { indexFilesOpenMax: 8, patternExpansionsMax: 1_000, patternScanTermsMax: 2_000_000 }

/** A folder of SQLite files with the fixture's build, which readers use, and its writer. */
export async function openSqliteFixture() {
  const folder = mkdtempSync(join(tmpdir(), 'throughline-sqlite-fixture-'))
  const writer = createSqliteIndexWriter({ folder, limits, syncEveryMs: 0 })
  await openFixture(writer)
  return {
    folder,
    writer,
    /** The file of the day that entries of the first workspace are under. */
    dayFile: (build: IndexName = index): string => join(folder, build, 'acme', `${day}.db`),
    remove: (): void => rmSync(folder, { recursive: true }),
  }
}
export type SqliteFixture = Awaited<ReturnType<typeof openSqliteFixture>>

/** How many descriptors this process has of a file. */
export const timesOpen = (path: string): number => openPathsOf(process.pid).filter((open) => open === path).length

/** The digests of all that a file of the fixture holds. */
export async function digestsIn(
  folder: string,
  { build = index, workspaceId = acme, onDay = day } = {},
): Promise<readonly Digest[]> {
  const audit = createSqliteIndexAudit({ folder })
  const frozen = await audit.freeze(build, { workspaceId, day: onDay })
  try {
    return await frozen.digests()
  } finally {
    await frozen.release()
    await audit.close()
  }
}
