import { shownInLine } from '#src/lib/shown-safely.ts'
import type { Metrics } from './metrics.ts'

/** What a sample of an index found: how many entries of a workspace were compared, and how many were not what the log says. */
export type Sampled = Readonly<{
  projection: string
  index: string
  partition: string
  workspaceId: string
  entries: number
  different: number
}>
/** `error`: why it could not be taken. */
export type IndexSample = Sampled | Readonly<{ partition: string; error: Error }>

type Listen = (onSample: (sample: IndexSample) => void) => void
type Options = Readonly<{
  projections: readonly string[]
  partitions: readonly string[]
  warn: (line: string) => void
}>

/** Counts what samples find, and tells the operator of each that is not what the log says. */
export function observeSamples(metrics: Metrics, listen: Listen, { projections, partitions, warn }: Options): void {
  const samples = metrics.counter('throughline_index_samples_total', 'Workspaces of an index compared with the log.')
  const entries = metrics.counter('throughline_index_sampled_entries_total', 'Entries compared with the log.')
  for (const partition of partitions) {
    for (const projection of projections)
      for (const outcome of ['equal', 'different']) samples({ projection, partition, outcome }, 0)
    samples({ partition, outcome: 'failed' }, 0)
  }
  listen((sample) => {
    if ('error' in sample) {
      const { partition, error } = sample
      samples({ partition, outcome: 'failed' })
      return warn(
        `an index of partition ${partition} could not be compared with the log: ${shownInLine(error.message)}`,
      )
    }
    const { projection, index, partition, workspaceId, different } = sample
    samples({ projection, partition, outcome: different === 0 ? 'equal' : 'different' })
    entries({ projection, partition, outcome: 'equal' }, sample.entries - Math.min(sample.entries, different))
    if (different === 0) return
    entries({ projection, partition, outcome: 'different' }, different)
    warn(
      `${index} differs from the log at ${different} places of workspace ${workspaceId}: see throughline verify ${projection}`,
    )
  })
}
