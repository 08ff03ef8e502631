import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect } from 'chai'
import { checkPlaces, foldersOf } from '#src/compose/folders.ts'

describe('the places of a data folder', () => {
  let dataFolder: string
  beforeEach(() => (dataFolder = join(mkdtempSync(join(tmpdir(), 'throughline-places-')), 'data')))
  afterEach(() => rmSync(dirname(dataFolder), { recursive: true }))

  it('are refused each, where a file is in a folder’s or a folder in a file’s, and not where nothing is', () => {
    checkPlaces(dataFolder, 'start')
    const { directory, logFolder, log, indexFolder, quarantineFolder } = foldersOf(dataFolder)
    const names = ['lock', 'lock.pid', 'lock.workers', 'secrets.json', 'first-run.json']
    const files = [directory.file, log.file, ...names.map((name) => join(dataFolder, name))]
    for (const place of [dataFolder, logFolder, indexFolder, quarantineFolder, ...files]) {
      const isFile = files.includes(place)
      mkdirSync(isFile ? place : dirname(place), { recursive: true })
      if (!isFile) writeFileSync(place, 'x')
      const found = isFile ? 'it is a folder, and must be a file' : 'it is a file, and must be a folder'
      expect(() => checkPlaces(dataFolder, 'start'), place).to.throw(`start ${place} (${found}: move it away`)
      rmSync(dataFolder, { recursive: true })
    }
  })
})
