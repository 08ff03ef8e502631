import { lossesOf, misfitsOf, type StreamConfig } from './stream-config.ts'
import type { LogName } from './subjects.ts'

/**
 * Compares each configuration that the server tells of a log with the one that it was opened with: a process that runs goes on,
 * but says what has become of the log, once, and again when that has been set right.
 */
export function watchSettings(
  log: LogName,
  opened: StreamConfig,
  warn: (line: string) => void,
): (config: StreamConfig) => void {
  const partitions = Number(opened.metadata['partitions'])
  const problemsOf = (config: StreamConfig): readonly string[] => [
    ...misfitsOf(config, log, partitions),
    ...lossesOf(config, opened.num_replicas),
  ]
  let known = problemsOf(opened)
  return (config) => {
    const found = problemsOf(config)
    const isKnown = found.every((problem) => known.includes(problem))
    if (!isKnown)
      warn(`stream ${log.stream} was changed, and acknowledged events may be lost: ${found.join('; ')}; set it back`)
    else if (found.length < known.length)
      warn(`stream ${log.stream} was changed: ${found.join('; ') || 'it is as it should be'}`)
    known = found
  }
}
