import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { getPriority, platform, setPriority } from 'node:os'

/** `folding`: of what folds for readers. `ahead`: of a worker that does not have to be waited for. `checking`: of what nobody waits for. */
export const niceness = { folding: 10, ahead: 19, checking: 19 } as const

const threadsFolder = '/proc/self/task'

/** V8's threads of this process: they collect garbage beside JavaScript, most of it that of who folds, and compile. */
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

/**
 * `thread`: 0 is the caller. One that gives way to more already keeps its priority: nobody but root may raise it again. Where a service manager or
 * a sandbox lets nobody change one (systemd's `SystemCallFilter=~@resources`), or the thread has ended, all else goes on as it would.
 */
function lower(thread: number, to: number): void {
  try {
    if (getPriority(thread) < to) setPriority(thread, to)
  } catch {
    // Those who wait for an answer wait longer, as elsewhere than on Linux.
  }
}

/**
 * On Linux a priority is a thread's own: one that folds leaves the processors to those who wait for an answer, and so do V8's threads that
 * work for it, which are the whole process's: with theirs as it was, the slowest acks beside a fold took half as long again.
 */
export function giveWay(to: number = niceness.folding): void {
  if (platform() !== 'linux') return
  lower(0, to)
  for (const thread of helpersOfV8()) lower(thread, Math.min(to, niceness.folding))
}
