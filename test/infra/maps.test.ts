import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'

/** Pages that say of each file what it does, and the folders whose files they name. */
const maps: Readonly<Record<string, readonly string[]>> = {
  'projections/README.md': [
    'projections',
    ...['folding', 'rosters', 'builds', 'retention', 'reading'].map((room) => `projections/${room}`),
    ...['traces', 'logs', 'correlation', 'allowance'].map((room) => `projections/${room}`),
  ],
  'projections/stores/README.md': [
    'projections/stores',
    ...['sqlite', 'elasticsearch'].map((room) => `projections/stores/${room}`),
    ...['writing', 'reading', 'auditing', 'fts5'].map((room) => `projections/stores/sqlite/${room}`),
  ],
  'src/wire/README.md': ['src/wire/otlp', 'src/wire/logs', 'src/wire/rum'],
  'streams/README.md': ['streams', 'streams/sqlite', 'streams/sqlite/mending', 'streams/jetstream'],
}

describe('a page that maps folders', () => {
  for (const [page, folders] of Object.entries(maps)) {
    it(`names each of their files: ${page}`, () => {
      const text = readFileSync(page, 'utf8')
      const files = folders.flatMap((folder) =>
        readdirSync(folder, { withFileTypes: true })
          .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
          .map(({ name }) => ({ name, path: join(folder, name) })),
      )
      expect(files.length).to.be.greaterThan(folders.length)
      const missing = files.filter(({ name }) => !text.includes(`\`${name}\``)).map(({ path }) => path)
      expect(missing).to.deep.equal([])
    })
  }
})
