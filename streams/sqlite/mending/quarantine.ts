import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { syncFolder, writeDurably } from '#src/lib/durable-files.ts'
import type { Gap } from './salvage.ts'
import { isFile } from '../file-stat.ts'

/**
 * The report beside a log that was set aside. Positions are the same in both epochs. `kind`: undefined for a damaged log. `older`:
 * readable, but it ends before what its indexes have read. `beside`: not a log, but files left of one when a backup was put over it.
 */
export type QuarantineReport = Readonly<{
  kind?: 'older' | 'beside'
  /** `log` or `directory`. */
  name: string
  /** When, RFC 3339. */
  at: string
  reason: string
  kept: number
  lost: number
  gaps: readonly Gap[]
  head: number
  epoch: string
}>
/** `folder`: where it is. `report`: undefined if somebody has removed it. */
export type Quarantined = Readonly<{ folder: string; report: QuarantineReport | undefined }>

const reportName = 'report.json'
/** The most gaps a report names. `lost` counts all positions. */
const gapsMax = 1_000

const bounded = (report: QuarantineReport): QuarantineReport => ({
  ...report,
  gaps: report.gaps.slice(0, gapsMax),
})

export const formatReport = (report: QuarantineReport): string => `${JSON.stringify(bounded(report), null, 2)}\n`

export const writeReport = (folder: string, report: QuarantineReport): void =>
  writeDurably(join(folder, reportName), formatReport(report))

/** Creates a new folder and puts the report into it. The log's files come later. */
export function makeQuarantine(parent: string, report: QuarantineReport): string {
  mkdirSync(parent, { recursive: true, mode: 0o700 })
  syncFolder(dirname(parent))
  const name = `${report.at.replaceAll(':', '-').replace(/\.\d+/, '')}-${report.name}`
  for (let number = 1; ; number++) {
    const folder = join(parent, number === 1 ? name : `${name}-${number}`)
    if (existsSync(folder)) continue
    mkdirSync(folder, { mode: 0o700 })
    syncFolder(parent)
    writeReport(folder, report)
    return folder
  }
}

/** Parses a report; undefined if the text is not one. */
export function parseReport(text: string): QuarantineReport | undefined {
  try {
    const report = JSON.parse(text) as Partial<QuarantineReport> | null
    const { name, at, reason, kept, lost, gaps } = report ?? {}
    const isReport =
      [name, at, reason].every((each) => typeof each === 'string') &&
      [kept, lost].every((each) => typeof each === 'number') &&
      Array.isArray(gaps)
    return isReport ? (report as QuarantineReport) : undefined
  } catch {
    return undefined
  }
}

/** Undefined if it is gone or not a report: a missing message must not stop a start. */
export function readReport(folder: string): QuarantineReport | undefined {
  try {
    return parseReport(readFileSync(join(folder, reportName), 'utf8'))
  } catch {
    return undefined
  }
}

const foldersIn = (parent: string): readonly string[] =>
  existsSync(parent)
    ? readdirSync(parent)
        .sort()
        .map((name) => join(parent, name))
        .filter((folder) => !isFile(folder))
    : []

/** Removes folders made for a log of this name that was not moved after all. */
export function removeUnused(parent: string, name: string): void {
  for (const folder of foldersIn(parent)) {
    const isUnused = readdirSync(folder).every((file) => file === reportName)
    if (isUnused && readReport(folder)?.name === name) rmSync(folder, { recursive: true })
  }
}

/** Everything in quarantine, oldest first. Leaves out folders without any file of a log. */
export function readQuarantines(parent: string): readonly Quarantined[] {
  return foldersIn(parent)
    .filter((folder) => readdirSync(folder).some((name) => /\.db(-wal|-journal|\.next)?$/.test(name)))
    .map((folder) => ({ folder, report: readReport(folder) }))
}
