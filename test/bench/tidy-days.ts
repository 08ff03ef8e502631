import { readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { openDatabase } from '#projections/stores/sqlite/database.ts'
import { dayOfFile } from '#projections/stores/sqlite/paths.ts'
import { tablesOf } from '#projections/stores/sqlite/layout.ts'
import { storedBuildRecord } from '#projections/stores/sqlite/build-record.ts'
import { tidyOnce } from '#projections/stores/sqlite/writing/tidy-files.ts'

/** Does to all days in a folder of indexes what a server does once they are over, at once. No server may run. */
export function tidyDays(folder: string): void {
  const builds = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory())
  for (const { name: index } of builds) {
    const collections = Object.values(storedBuildRecord(folder, index)?.shapes ?? {}).map(tablesOf)
    for (const name of readdirSync(join(folder, index), { recursive: true, encoding: 'utf8' })) {
      if (dayOfFile(basename(name)) === undefined) continue
      const database = openDatabase(join(folder, index, name))
      while (tidyOnce(database, collections));
      database.close()
    }
  }
}
