import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { foldersOf } from '#src/compose/folders.ts'
import { tellQuarantines } from '#src/compose/quarantines.ts'
import { formatReport, type QuarantineReport } from '#streams/sqlite/mending/quarantine.ts'

describe('what is told of a damaged log that lies in quarantine', () => {
  let dataFolder: string
  beforeEach(() => {
    dataFolder = mkdtempSync(join(tmpdir(), 'throughline-told-'))
  })
  afterEach(() => rmSync(dataFolder, { recursive: true }))

  const toldOf = (more: Partial<QuarantineReport> | undefined): string => {
    const folder = join(foldersOf(dataFolder).quarantineFolder, 'log-1')
    rmSync(folder, { recursive: true, force: true })
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'log.db'), '')
    const report = { name: 'log', at: '2026-11-21T12:00:00Z', reason: 'a page is torn', kept: 7, lost: 0, gaps: [] }
    if (more !== undefined)
      writeFileSync(join(folder, 'report.json'), formatReport({ ...report, head: 0, epoch: '', ...more }))
    const told: string[] = []
    const tell = console.error
    console.error = (line: string) => void told.push(line)
    try {
      tellQuarantines(dataFolder)
    } finally {
      console.error = tell
    }
    return told.join('\n').replaceAll(folder, 'FOLDER')
  }
  const gaps = (count: number) =>
    Array.from({ length: count }, (_, n) => ({ from: n * 10, to: n === 0 ? 0 : n * 10 + 1 }))

  it('is what is lost: the places of it, the first five where there are more', () => {
    const [five, six] = [5, 6].map((count) => toldOf({ lost: 11, gaps: gaps(count) }))
    const places = '  lost:     11 events, at positions 0, 10 to 11, 20 to 21, 30 to 31, 40 to 41'
    expect(five).to.include(`${places}\n`)
    expect(six).to.include(`${places}, … (all of them in report.json there)\n`)
    expect(toldOf({})).to.include('  lost:     none that is known of\n')
    expect(toldOf({ kept: 0 })).to.include('  lost:     everything; how much that was is not known\n')
  })

  it('is which log it was, and what to look at since', () => {
    expect(toldOf({}))
      .to.include('The event log was damaged, and was set aside on 2026-11-21T12:00:00Z.\n  damage:   a page is torn\n')
      .and.include('span allowances are counted again')
    expect(toldOf({ name: 'directory' }))
      .to.include('The directory (workspaces, keys, members) was damaged')
      .and.include('check keys, members and workspaces')
    for (const [name, words] of [
      ['log', 'event log'],
      ['directory', 'directory'],
    ] as const) {
      expect(toldOf({ name, kind: 'beside' })).to.include(`What was left of the ${words} that was here before (`)
    }
  })

  it('is where it lies, if its report is gone', () => {
    expect(toldOf(undefined)).to.equal('A damaged log lies in FOLDER. Delete that folder when you no longer need it.')
  })
})
