import type { SetAside } from '#src/operations/quarantine.ts'
import { readQuarantines, type Quarantined, type QuarantineReport } from '#streams/sqlite/mending/quarantine.ts'
import { foldersOf } from './folders.ts'

/** What lies in the quarantine of a data folder, the oldest first. */
export const quarantinesOf = (dataFolder: string): readonly Quarantined[] =>
  readQuarantines(foldersOf(dataFolder).quarantineFolder)

/** The same as figures. What has no report is told as a damaged log of events. */
export const setAsideOf = (dataFolder: string): readonly SetAside[] =>
  quarantinesOf(dataFolder).map(({ report }) => ({ name: report?.name ?? 'log', lost: report?.lost ?? 0 }))

const gapsToldMax = 5

function describeLost({ kept, lost, gaps }: QuarantineReport): string {
  if (lost === 0) return kept === 0 ? 'everything; how much that was is not known' : 'none that is known of'
  const told = gaps.slice(0, gapsToldMax).map(({ from, to }) => (from === to ? `${from}` : `${from} to ${to}`))
  const more = gaps.length > gapsToldMax ? `, … (all of them in report.json there)` : ''
  return `${lost} events, at positions ${told.join(', ')}${more}`
}

const ofLog = `its indexes are folded again from what is kept, and span allowances are counted again; lost events can no longer be found`
const ofDirectory =
  'what a lost event changed is no longer in force: check keys, members and workspaces, and revoke, change or create again what is wrong'

const ofDisk = 'check the disk and the memory of this machine'
const headings = {
  damaged: { found: 'was damaged, and was set aside', label: 'damage:  ', files: 'the damaged files', check: ofDisk },
  older: {
    found: 'ended before what its indexes have had of it, and was set aside',
    label: 'found:   ',
    files: 'them',
    check: `if a backup was put over this folder, nothing, it is as it was then; if not, ${ofDisk}`,
  },
} as const

/** Files left beside a log when a backup was put over it. */
const describeBeside = (folder: string, { name, at, reason }: QuarantineReport): string =>
  [
    `What was left of the ${name === 'log' ? 'event log' : 'directory'} that was here before (${reason}) was set aside on ${at}: it is not applied to the restored one.`,
    `  set aside in ${folder}; "throughline workspace erase" does not reach it`,
    `  to do:    delete that folder when you no longer need it: this message goes with it`,
  ].join('\n')

/** Shown to the operator at every start, as long as the folder is there. */
function describeQuarantine({ folder, report }: Quarantined): string {
  if (report === undefined) return `A damaged log lies in ${folder}. Delete that folder when you no longer need it.`
  const { kind = 'damaged', name, at, reason, kept } = report
  if (kind === 'beside') return describeBeside(folder, report)
  const { found, label, files, check } = headings[kind]
  const what = name === 'directory' ? 'The directory (workspaces, keys, members)' : 'The event log'
  return [
    `${what} ${found} on ${at}.`,
    `  ${label} ${reason}`,
    `  kept:     ${kept} events, each where it stood`,
    `  lost:     ${describeLost(report)}`,
    `  set aside in ${folder}, byte for byte; "throughline workspace erase" does not reach it`,
    `  since then: ${name === 'directory' ? ofDirectory : ofLog}`,
    `  to do:    ${check}; when you no longer need ${files}, delete that`,
    `            folder: this message goes with it, and so do the metric throughline_quarantined_logs and its line in "throughline status"`,
  ].join('\n')
}

/** Reports everything in quarantine. */
export function tellQuarantines(dataFolder: string): void {
  for (const quarantined of quarantinesOf(dataFolder)) console.error(describeQuarantine(quarantined))
}
