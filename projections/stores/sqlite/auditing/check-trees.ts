import type { SearchItem } from '../../../index-audit.ts'
import type { Database } from '../database.ts'
import type { Tables } from '../layout.ts'

const messageMax = 500

/**
 * What SQLite finds wrong in the b-trees by which a collection is searched, and FTS5 in its index of terms; normally nothing. Where an index lacks
 * a row, or leads past a page, its entry is there, and no search finds it. In order of their names. Bodies are in no index.
 */
export function* wrongTrees(
  database: Database,
  { rows, terms, minutes, counted, together }: Tables,
): Generator<SearchItem> {
  const tables = [rows, terms, counted.length > 0 ? minutes : undefined, together?.counts, together?.values]
  for (const table of tables.filter((name) => name !== undefined).toSorted()) {
    const said = database.all(`PRAGMA integrity_check(${table})`).map((row) => String(row['integrity_check']))
    if (said.length === 1 && said[0] === 'ok') continue
    yield { name: `damage of ${table}`, value: said.join('; ').slice(0, messageMax) }
  }
}
