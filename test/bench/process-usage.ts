import { readdirSync, readFileSync, writeFileSync } from 'node:fs'

/**
 * What a thread works for. `ingest`: HTTP, the log's writer and the thread pool; `project`: the projector; `query`: the
 * query engine; `runtime`: V8's own threads (garbage collection, compilation), which all of them share.
 */
const purposes = ['ingest', 'project', 'query', 'runtime'] as const
type Purpose = (typeof purposes)[number]
/** CPU seconds by purpose. */
export type Cpu = Readonly<Record<Purpose, number>>

type Thread = Readonly<{ purpose: Purpose; seconds: number }>
export type Usage = ReadonlyMap<string, Thread>

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    // A process or thread that has ended meanwhile.
    return undefined
  }
}

const list = (path: string): readonly string[] => {
  try {
    return readdirSync(path)
  } catch {
    return []
  }
}

/** The fields of a `stat` file behind the name, which may hold anything: the first is the state. */
const statFields = (text: string): readonly string[] => text.slice(text.lastIndexOf(')') + 2).split(' ')

/** A process and all that it has started. Source: proc_pid_stat(5). */
function processTree(root: number): readonly number[] {
  const children = new Map<number, number[]>()
  for (const name of list('/proc')) {
    const stat = /^\d+$/.test(name) ? read(`/proc/${name}/stat`) : undefined
    if (stat === undefined) continue
    const parent = Number(statFields(stat)[1])
    children.set(parent, [...(children.get(parent) ?? []), Number(name)])
  }
  const tree = [root]
  for (const pid of tree) tree.push(...(children.get(pid) ?? []))
  return tree
}

function purposeOf(name: string): Purpose {
  if (name === 'projector') return 'project'
  if (name === 'query') return 'query'
  return name === 'V8Worker' || name.startsWith('DelayedTask') ? 'runtime' : 'ingest'
}

/** `getconf CLK_TCK`, which is 100 on every Linux that Node runs on. */
const ticksPerSecond = 100

/**
 * CPU seconds that a `stat` file of a process tells: of all its threads, those that have ended included, and of children that have
 * ended. Source: utime, stime, cutime and cstime of proc_pid_stat(5).
 */
export const cpuOfStat = (text: string): number =>
  statFields(text)
    .slice(11, 15)
    .reduce((ticks, field) => ticks + Number(field), 0) / ticksPerSecond

/** CPU seconds of a process and of all that it has started, since they began. Linux only. */
export function cpuSeconds(root: number): number {
  const stats = processTree(root).flatMap((pid) => read(`/proc/${pid}/stat`) ?? [])
  if (stats.length === 0) throw new Error(`process ${root} does not run, or there is no /proc`)
  return stats.reduce((sum, stat) => sum + cpuOfStat(stat), 0)
}

/** Nanoseconds on a CPU where the kernel counts them, else clock ticks. Source: Documentation/scheduler/sched-stats. */
function secondsOf(task: string): number {
  const schedstat = read(`${task}/schedstat`)
  if (schedstat !== undefined) return Number(schedstat.split(' ')[0]) / 1e9
  const fields = statFields(read(`${task}/stat`) ?? '')
  return (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) / ticksPerSecond
}

/** The threads of a process, each with its folder in /proc. */
const threadsOf = (pid: number): readonly Readonly<{ task: string; name: string }>[] =>
  list(`/proc/${pid}/task`).flatMap((thread) => {
    const task = `/proc/${pid}/task/${thread}`
    const name = read(`${task}/comm`)?.trim()
    return name === undefined ? [] : [{ task, name }]
  })

/** CPU seconds of the threads of such names that a process and all that it has started have now. Linux only. */
export function threadSeconds(root: number, name: RegExp): number {
  const named = processTree(root)
    .flatMap(threadsOf)
    .filter((thread) => name.test(thread.name))
  return named.reduce((sum, { task }) => sum + secondsOf(task), 0)
}

/** CPU time of every thread of a process and of all that it has started. Linux only. */
export function readUsage(pid: number): Usage {
  const usage = new Map<string, Thread>()
  for (const process of processTree(pid)) {
    for (const { task, name } of threadsOf(process)) {
      usage.set(task, { purpose: purposeOf(name), seconds: secondsOf(task) })
    }
  }
  if (usage.size === 0) throw new Error('the benchmarks read /proc of a running process: they need Linux')
  return usage
}

/** What was used between two readings. Threads that ended between them are left out. */
export function usedBetween(before: Usage, after: Usage): Cpu {
  const cpu: Record<Purpose, number> = { ingest: 0, project: 0, query: 0, runtime: 0 }
  for (const [thread, { purpose, seconds }] of after) cpu[purpose] += seconds - (before.get(thread)?.seconds ?? 0)
  return cpu
}

export const allOf = (cpu: Cpu): number => purposes.reduce((sum, purpose) => sum + cpu[purpose], 0)

/** Bytes of memory at the peak, of all processes of the tree. Source: VmHWM of proc_pid_status(5). */
export function peakBytes(pid: number): number {
  return processTree(pid).reduce((sum, process) => {
    const kilobytes = /^VmHWM:\s+(\d+) kB/m.exec(read(`/proc/${process}/status`) ?? '')?.[1] ?? 0
    return sum + Number(kilobytes) * 1024
  }, 0)
}

/** Begins the peak anew, where the system allows it. Source: clear_refs of proc_pid_clear_refs(5). */
export function forgetPeak(pid: number): void {
  for (const process of processTree(pid)) {
    try {
      writeFileSync(`/proc/${process}/clear_refs`, '5')
    } catch {
      // Then the peak is that of the process's whole life: higher, never lower.
    }
  }
}

/** The process of the tree that has a thread of this name. */
export function processWithThread(pid: number, name: string): number | undefined {
  return processTree(pid).find((process) => threadsOf(process).some((thread) => thread.name === name))
}
