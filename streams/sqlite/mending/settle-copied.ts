import { renameSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { syncFolder } from '#src/lib/durable-files.ts'
import { besideCopied, checkCopied, forgetCopied, type Copied } from '../copied.ts'
import { movingOf } from '../side-files.ts'
import { clearSuspicion } from '../suspicion.ts'
import { makeQuarantine } from './quarantine.ts'

type Options = Readonly<{
  file: string
  name: string
  quarantine: string
  clock: () => number
  onProgress?: (line: string) => void
}>

/** They may hold the only copy of the last acknowledged events. */
function setAsideBeside({ file, name, quarantine, clock }: Options, sides: readonly string[], copied: Copied): void {
  const folder = makeQuarantine(quarantine, {
    kind: 'beside',
    name,
    at: new Date(clock()).toISOString(),
    reason: `the backup of ${copied.at} was put over it`,
    kept: 0,
    lost: 0,
    gaps: [],
    head: 0,
    epoch: '',
  })
  for (const side of sides) renameSync(side, join(folder, basename(side)))
  syncFolder(folder)
  syncFolder(dirname(file))
}

/**
 * For a log restored from a backup and not opened since: sets aside the files left of the log it replaced, and removes the note of its
 * origin. Throws PermanentError if it differs from what was backed up. Call it while nobody else has the log.
 */
export function settleCopied(options: Options): void {
  const { file, onProgress = () => {} } = options
  const copied = checkCopied(file)
  if (copied !== undefined) {
    onProgress(`${file} is as it was backed up at ${copied.at}, up to position ${copied.head}`)
    const sides = besideCopied(file)
    if (sides.length > 0) setAsideBeside(options, sides, copied)
    // Not worth keeping: shared memory, and notes about the replaced log.
    for (const side of [`${file}-shm`, movingOf(file), `${movingOf(file)}.new`]) rmSync(side, { force: true })
    clearSuspicion(file)
    syncFolder(dirname(file))
  }
  forgetCopied(file)
}
