import type { Progress } from '#projections/index-store.ts'
import { ok } from '#src/lib/result.ts'
import { table, type CliServices, type Verb } from './verb.ts'

/** Projectors write each second, even idle: one that has not for this long is not running. */
const heartbeatMaxMs = 5_000

type LogStatus = Readonly<{ partition: string; head: number }>
type IndexStatus = Readonly<{
  projection: string
  partition: string
  index: string | null
  position: number
  lag: number | null
  state: 'complete' | 'behind' | 'not running' | 'not built'
}>

function stateOf(
  progress: Progress | undefined,
  head: number,
  now: number,
): Omit<IndexStatus, 'projection' | 'partition'> {
  if (progress === undefined) return { index: null, position: 0, lag: null, state: 'not built' }
  const { index, position, at } = progress
  const running = now - at <= heartbeatMaxMs
  const state = position >= head ? 'complete' : 'behind'
  return { index, position, lag: Math.max(0, head - position), state: running ? state : 'not running' }
}

async function readLogs(services: CliServices, dataFolder: string): Promise<readonly LogStatus[]> {
  const logs = await services.openLogs(dataFolder)
  try {
    return await Promise.all(logs.map(async (log) => ({ partition: log.partition, head: await log.head() })))
  } finally {
    await Promise.all(logs.map((log) => log.close()))
  }
}

/** Of each partition, of each projection. */
async function readProgress(
  services: CliServices,
  dataFolder: string,
): Promise<readonly (readonly (Progress | undefined)[])[]> {
  const indexes = await services.openIndexes(dataFolder)
  try {
    return await Promise.all(
      indexes.map((index) => Promise.all(services.projections.map((name) => index.progress(name)))),
    )
  } finally {
    await Promise.all(indexes.map((index) => index.close()))
  }
}

const rowOf = ({ projection, partition, index, position, lag, state }: IndexStatus): readonly string[] => [
  projection,
  partition,
  index ?? '',
  String(position),
  lag === null ? '' : String(lag),
  state,
]

export const status: Verb = {
  name: 'status',
  names: [],
  usage: '',
  about: 'shows how far the log and each index are, partition by partition',
  options: {},
  run: async ({ services, dataFolder, clock, directory: open }) => {
    const directory = await open()
    // Progress first: an index is then never shown ahead of the log.
    const progress = await readProgress(services, dataFolder)
    const logs = await readLogs(services, dataFolder)
    const indexes = services.projections.flatMap((projection, at) =>
      logs.map(({ partition, head }, number): IndexStatus => {
        return { projection, partition, ...stateOf(progress[number]?.[at], head, clock()) }
      }),
    )
    const workspaces = directory.workspaces().length
    return ok({
      json: { directory: { position: directory.position(), workspaces }, logs, indexes },
      text: [
        `Directory at position ${directory.position()}, ${workspaces} workspaces.`,
        ...logs.map(({ partition, head }) => `Log of partition ${partition} at position ${head}.`),
        table([['PROJECTION', 'PARTITION', 'INDEX', 'POSITION', 'LAG', 'STATE'], ...indexes.map(rowOf)]),
      ].join('\n'),
    })
  },
}
