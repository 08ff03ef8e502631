import { parseTime } from './time.ts'

/** The prefix of each line in the files of container runtimes: time and stream (Kubernetes, CRI logging format). */
export const ofRuntime = /^(\S{20,35}) (std(?:out|err)) [FP] /

type OfRuntime = Readonly<{ time: string; stream: string; text: string }>

/** A line of a container runtime, taken apart; undefined for any other line. */
export function fromRuntime(line: string): OfRuntime | undefined {
  const [prefix, time, stream] = ofRuntime.exec(line) ?? []
  if (prefix === undefined || time === undefined || stream === undefined || parseTime(time) === undefined)
    return undefined
  return { time, stream, text: line.slice(prefix.length) }
}
