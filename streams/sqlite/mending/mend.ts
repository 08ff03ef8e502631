import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { positionStep } from '#src/events/envelope.ts'
import { syncFolder, writeDurably } from '#src/lib/durable-files.ts'
import { PermanentError } from '#src/lib/failure.ts'
import { stateOf } from '../file-stat.ts'
import type { LogFile } from '../log-file.ts'
import { movingOf, nextOf, sides } from '../side-files.ts'
import { clearSuspicion, suspicionOf } from '../suspicion.ts'
import { examine, type ExamineOptions, type Verdict } from './examine.ts'
import {
  formatReport,
  makeQuarantine,
  parseReport,
  readReport,
  removeUnused,
  writeReport,
  type Quarantined,
  type QuarantineReport,
} from './quarantine.ts'
import { removeDatabase, salvage, type Salvaged } from './salvage.ts'
import { settleCopied } from './settle-copied.ts'

export type MendOptions = Omit<ExamineOptions, 'isThorough'> &
  Readonly<{
    /** Its name in the report: `log`. */
    name: string
    /** The folder for everything that is set aside. */
    quarantine: string
    clock: () => number
    /** Epochs of the indexes beside the log, used if the log no longer says which epoch it had. */
    epochsBeside?: () => readonly string[]
    /** Called before each step that may take long. */
    onProgress?: (line: string) => void
    /** Repairs what the events say together in the new log, before that takes the old one's place. Rejects if it must not. */
    settle?: (log: LogFile) => Promise<void>
    /** Called before each step on disk, for tests. */
    onStep?: (step: string) => void
  }>

type Damaged = Extract<Verdict, Readonly<{ kind: 'damaged' }>>

/** `mended`: what was set aside this time. */
export type Mended = Readonly<{ verdict: Verdict; mended?: Quarantined }>

/** Moves a file, never over another one. */
function move(from: string, to: string): void {
  if (!existsSync(from)) return
  for (let number = 1; ; number++) {
    const place = number === 1 ? to : `${to}.${number}`
    if (!existsSync(place)) return renameSync(from, place)
  }
}

function forgetMove(file: string, onStep: (step: string) => void): void {
  onStep('forget the move')
  rmSync(movingOf(file), { force: true })
  syncFolder(dirname(file))
}

/**
 * From here on the damaged log is replaced by the new one, however often this is interrupted and resumed. The database file moves last:
 * before that, the files beside it are its own; after that, they are its successor's.
 */
function finishMoving(file: string, folder: string, onStep: (step: string) => void): void {
  const place = join(folder, basename(file))
  if (!existsSync(place)) {
    for (const side of sides) {
      onStep(`move ${side}`)
      move(`${file}${side}`, `${place}${side}`)
    }
    syncFolder(folder)
    onStep('move the database')
    move(file, place)
  }
  onStep('sync the quarantine')
  syncFolder(folder)
  syncFolder(dirname(file))
  if (existsSync(nextOf(file))) {
    onStep('put the new one in its place')
    renameSync(nextOf(file), file)
  }
  onStep('sync the folder')
  syncFolder(dirname(file))
  onStep('forget the suspicion')
  clearSuspicion(file)
  forgetMove(file, onStep)
}

/**
 * The folder of a move and its report, in one file. If somebody removes the folder before the move ends, this is all that still says what
 * was lost.
 */
const formatMove = (folder: string, report: QuarantineReport): string => `${basename(folder)}\n${formatReport(report)}`

function readMove({ file, quarantine }: MendOptions): Quarantined {
  const [name = '', ...rest] = readFileSync(movingOf(file), 'utf8').split('\n')
  const folder = join(quarantine, name.trim())
  return { folder, report: readReport(folder) ?? parseReport(rest.join('\n')) }
}

/**
 * Resumes a move whose folder somebody has removed. If the new log still waits beside the damaged one, the move must be finished. If it is
 * already in place, only the note of the move is left to remove.
 */
function resumeWithout({ folder, report }: Quarantined, { file, onProgress = () => {} }: MendOptions): boolean {
  const said = report === undefined ? '' : `: ${report.kept} events were kept, ${report.lost} lost`
  onProgress(`${file} was damaged and was being set aside in ${folder}, which is gone${said}; this is finished now`)
  if (!existsSync(nextOf(file))) return false
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  syncFolder(dirname(folder))
  if (report !== undefined) writeReport(folder, report)
  return true
}

/** Finishes an interrupted move; returns what it has set aside. */
function resume(options: MendOptions, onStep: (step: string) => void): Quarantined | undefined {
  const { file } = options
  if (!existsSync(movingOf(file))) return undefined
  const broken = readMove(options)
  if (existsSync(broken.folder) || resumeWithout(broken, options)) finishMoving(file, broken.folder, onStep)
  else forgetMove(file, onStep)
  return broken
}

/** Another process, such as the command line, may write meanwhile: what it wrote must not be lost. */
const attemptsMax = 5

/** Events that others have read, but that come after everything found here, are lost too. */
function withLostTail(
  { formerEpoch, ...salvaged }: Salvaged,
  { knownHead }: MendOptions,
): Omit<Salvaged, 'formerEpoch'> {
  const known = knownHead?.(formerEpoch) ?? 0
  if (known <= salvaged.head) return salvaged
  const from = salvaged.head + positionStep
  const lost = salvaged.lost + (known - salvaged.head) / positionStep
  return { ...salvaged, lost, gaps: [...salvaged.gaps, { from, to: known }] }
}

async function makeSettled(
  { file, partition, settle, epochsBeside = () => [] }: MendOptions,
  next: string,
): Promise<Salvaged> {
  try {
    const salvaged = salvage({ file, partition }, next, epochsBeside)
    await settle?.({ file: next, partition })
    return salvaged
  } catch (error) {
    removeDatabase(next)
    throw error
  }
}

async function makeNext(options: MendOptions, { reason, isOlder }: Damaged): Promise<QuarantineReport> {
  const { file, name, clock } = options
  const next = nextOf(file)
  for (let attempt = 1; attempt <= attemptsMax; attempt++) {
    const before = stateOf(file)
    const salvaged = await makeSettled(options, next)
    const at = new Date(clock()).toISOString()
    const kind = isOlder === true ? ({ kind: 'older' } as const) : {}
    if (stateOf(file) === before) return { ...kind, name, at, reason, ...withLostTail(salvaged, options) }
  }
  throw new PermanentError({
    operation: 'set aside',
    subject: file,
    hint: 'another process writes to it all the time: end that one',
  })
}

async function setAside(options: MendOptions, damaged: Damaged): Promise<Quarantined> {
  const { file, onStep = () => {}, onProgress = () => {} } = options
  const what = damaged.isOlder === true ? 'is older than its indexes' : 'is damaged'
  onProgress(
    `${file} ${what} (${damaged.reason}): what can be read of it is copied, which takes as long as reading all of it`,
  )
  onStep('make the new one')
  const report = await makeNext(options, damaged)
  onStep('make the quarantine')
  const folder = makeQuarantine(options.quarantine, report)
  onStep('begin to move')
  // At this point the new log, the report and the folder are on disk.
  writeDurably(`${movingOf(file)}.new`, formatMove(folder, report), 'w')
  renameSync(`${movingOf(file)}.new`, movingOf(file))
  syncFolder(dirname(file))
  finishMoving(file, folder, onStep)
  return { folder, report }
}

/**
 * Checks whether a log can be read. If not, sets it aside, byte for byte, and replaces it with a new one, of a new epoch, that holds
 * everything readable. Call it before anybody opens the log, while nobody else has it. If it is interrupted at any moment, the next call
 * ends the same way. Throws what `examine` and `salvage` throw.
 */
export async function mendLog(options: MendOptions): Promise<Mended> {
  const { file, onStep = () => {}, onProgress = () => {} } = options
  settleCopied(options)
  const resumed = resume(options, onStep)
  // A new log that was interrupted is made again from the beginning.
  removeDatabase(nextOf(file))
  removeUnused(options.quarantine, options.name)
  const suspicion = suspicionOf(file)
  if (suspicion !== undefined) onProgress(`${file} is read from beginning to end, because damage was met: ${suspicion}`)
  const verdict = examine({ ...options, isThorough: suspicion !== undefined })
  if (verdict.kind !== 'damaged') {
    clearSuspicion(file)
    return { verdict, ...(resumed === undefined ? {} : { mended: resumed }) }
  }
  const mended = await setAside(options, verdict)
  const after = examine({ ...options, isThorough: false })
  if (after.kind === 'sound') return { verdict: after, mended }
  throw new PermanentError({
    operation: 'set aside',
    subject: file,
    hint: 'its new one cannot be read: check the disk',
  })
}
