import { existsSync, globSync, readFileSync } from 'node:fs'

/** proc_pid_stat(5): the pid, the name in brackets, the state, the parent's pid, the group. */
const stat = /^\d+ \(.*\) (\S) \d+ (\d+) /s

function isLivingIn(group: number, file: string): boolean {
  try {
    const [, state, itsGroup] = stat.exec(readFileSync(file, 'utf8')) ?? []
    return Number(itsGroup) === group && state !== 'Z'
  } catch {
    return false // It ended just now.
  }
}

/** Whether nobody lives in a process group any more. Who died and whom nobody has buried yet is gone, too. */
export function isGone(group: number | undefined): boolean {
  if (group === undefined) throw new Error('there was no group')
  try {
    process.kill(-group, 0)
  } catch {
    return true
  }
  return existsSync('/proc/self/stat') && !globSync('/proc/[0-9]*/stat').some((file) => isLivingIn(group, file))
}
