import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { getPriority, platform, setPriority } from 'node:os'

/** Niceness of threads. `folding`: for readers. `ahead`: a worker that nobody has to wait for. `checking`: work that nobody waits for. */
export const niceness = { folding: 10, ahead: 19, checking: 19 } as const

const threadsFolder = '/proc/self/task'

/** V8's helper threads in this process: they compile, and collect garbage, most of which folding makes. */
function helpersOfV8(): readonly number[] {
  if (!existsSync(threadsFolder)) return []
  return readdirSync(threadsFolder).flatMap((thread) => {
    try {
      return readFileSync(`${threadsFolder}/${thread}/comm`, 'utf8').startsWith('V8Worker') ? [Number(thread)] : []
    } catch {
      // It has ended meanwhile.
      return []
    }
  })
}

/** `thread`: 0 is the caller. Never raises a priority again: only root may. */
function lower(thread: number, to: number): void {
  if (getPriority(thread) < to) setPriority(thread, to)
}

/**
 * Lowers the priority of a thread that folds, which on Linux is a thread's own, so that those who wait for an answer get the processors first. V8's
 * helper threads, which belong to the whole process, are lowered too: otherwise the slowest acks beside a fold took half as long again.
 */
export function giveWay(to: number = niceness.folding): void {
  if (platform() !== 'linux') return
  lower(0, to)
  for (const thread of helpersOfV8()) lower(thread, Math.min(to, niceness.folding))
}
