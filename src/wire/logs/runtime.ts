import { parseTime } from './time.ts'

/** What container runtimes put before each line in their files: time and stream (Kubernetes, CRI logging format). */
export const ofRuntime = /^(\S{20,35}) (std(?:out|err)) [FP] /

type OfRuntime = Readonly<{ time: string; stream: string; text: string }>

/** A line as a container runtime keeps it, taken apart; undefined where it is not so. */
export function fromRuntime(line: string): OfRuntime | undefined {
  const [prefix, time, stream] = ofRuntime.exec(line) ?? []
  if (prefix === undefined || time === undefined || stream === undefined || parseTime(time) === undefined)
    return undefined
  return { time, stream, text: line.slice(prefix.length) }
}
