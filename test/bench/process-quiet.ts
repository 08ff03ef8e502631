import { setTimeout as sleep } from 'node:timers/promises'
import { cpuSeconds } from './process-usage.ts'

/** Longer than any server that is measured waits before it writes on or merges. */
const windowMs = 6_000
/** Of a core. */
const quietPart = 0.02

/** Resolves when a process and all that it has started have had next to nothing to do for some seconds. */
export async function untilQuiet(pid: number): Promise<void> {
  for (let before = cpuSeconds(pid); ;) {
    await sleep(windowMs)
    const now = cpuSeconds(pid)
    if (now - before < (quietPart * windowMs) / 1_000) return
    before = now
  }
}
