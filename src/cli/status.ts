import type { Progress } from '#projections/index-store.ts'
import { ok } from '#src/lib/result.ts'
import { table, type CliServices, type Verb } from './verb.ts'

/** Projectors write each second, even idle: one that has not for this long is not running. */
const heartbeatMaxMs = 5_000

type IndexStatus = Readonly<{
  projection: string
  index: string | null
  position: number
  lag: number | null
  state: 'complete' | 'behind' | 'not running' | 'not built'
}>

function statusOf(projection: string, progress: Progress | undefined, head: number, now: number): IndexStatus {
  if (progress === undefined) return { projection, index: null, position: 0, lag: null, state: 'not built' }
  const { index, position, at } = progress
  const running = now - at <= heartbeatMaxMs
  const state = position >= head ? 'complete' : 'behind'
  return { projection, index, position, lag: Math.max(0, head - position), state: running ? state : 'not running' }
}

async function readLogHead(services: CliServices, dataFolder: string): Promise<number> {
  const log = await services.openLog(dataFolder)
  try {
    return (await log?.head()) ?? 0
  } finally {
    await log?.close()
  }
}

async function readProgress(services: CliServices, dataFolder: string): Promise<readonly (Progress | undefined)[]> {
  const indexes = await services.openIndexes(dataFolder)
  try {
    return await Promise.all(services.projections.map(async (name) => indexes?.progress(name)))
  } finally {
    await indexes?.close()
  }
}

export const status: Verb = {
  name: 'status',
  names: [],
  usage: '',
  about: 'shows how far the log and each index are',
  options: {},
  run: async ({ services, dataFolder, clock, directory: open }) => {
    const directory = await open()
    // Progress first: an index is then never shown ahead of the log.
    const progress = await readProgress(services, dataFolder)
    const head = await readLogHead(services, dataFolder)
    const indexes = services.projections.map((name, at) => statusOf(name, progress[at], head, clock()))
    const workspaces = directory.workspaces().length
    const rows = indexes.map(({ projection, index, position, lag, state }) => [
      projection,
      index ?? '',
      String(position),
      lag === null ? '' : String(lag),
      state,
    ])
    return ok({
      json: { directory: { position: directory.position(), workspaces }, log: { head }, indexes },
      text: [
        `Directory at position ${directory.position()}, ${workspaces} workspaces.`,
        `Log at position ${head}.`,
        table([['PROJECTION', 'INDEX', 'POSITION', 'LAG', 'STATE'], ...rows]),
      ].join('\n'),
    })
  },
}
