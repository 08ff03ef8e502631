import { isJsonObject, parseJson } from '#src/lib/json.ts'
import type { ServerProcess } from '#test/support/server-process.ts'
import { BenchFailure } from './bench-client.ts'

/** What was used up by now, by name: seconds by the clock, and CPU seconds of whom it is asked. */
export type Used = Readonly<Record<string, number>>

const phaseIn = (line: string): string | undefined => {
  const value = line.startsWith('{"progress":') ? parseJson(line) : null
  const progress = isJsonObject(value) ? value['progress'] : undefined
  return isJsonObject(progress) ? String(progress['phase']) : undefined
}

/** Adds what was used between two readings to that of a phase. */
function addUsed(total: Used | undefined, before: Used, after: Used): Used {
  const names = Object.keys(after)
  return Object.fromEntries(
    names.map((name) => [name, (total?.[name] ?? 0) + (after[name] ?? 0) - (before[name] ?? 0)]),
  )
}

/**
 * Follows a verb that tells its progress line by line to its end: what was used in each of its phases, from the line that says
 * that it begins to the one that says that another does. `read` is asked at each line; of the last phase nothing is told, because
 * nothing can be asked of a process that has ended.
 */
export async function usedByPhase(verb: ServerProcess, read: () => Used): Promise<ReadonlyMap<string, Used>> {
  const phases = new Map<string, Used>()
  const ended = new Promise((resolve) => verb.child.once('close', resolve))
  let [phase, before] = ['start', read()]
  for (let index = 0; ; index++) {
    // It rejects when there is no further line.
    const line = await verb.printed(/^/, index).catch(() => undefined)
    if (line === undefined) break
    const now = phaseIn(line)
    if (now === undefined) continue
    const after = read()
    phases.set(phase, addUsed(phases.get(phase), before, after))
    ;[phase, before] = [now, after]
  }
  const code = await ended
  if (code !== 0) throw new BenchFailure(`it ended with ${String(code)}:\n${verb.lines.slice(-5).join('\n')}`)
  return phases
}
