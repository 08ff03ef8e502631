import { createDecoder, type Decoders } from '#projections/folding/decoded-event.ts'
import type { Heartbeat, IndexReader, IndexWriter } from '#projections/index-store.ts'
import type { Beside } from '#projections/folding/lanes.ts'
import type { ProjectionFailure } from '#projections/folding/open-lanes.ts'
import type { Projection } from '#projections/projection.ts'
import { createProjector } from '#projections/folding/projector.ts'
import type { Timers } from '#src/lib/timers.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import type { Stream } from '#streams/stream.ts'
import { everything } from './index-fixture.ts'
import { counting, lineDecoders, lineEvent } from './line-projections.ts'

const acme = workspaceIdOf('acme')

/** Timers and a clock that only the test moves. */
export function createManualTime() {
  let now = 1_000_000
  const tasks = new Set<() => void>()
  const timers: Timers = {
    every(_ms, task) {
      tasks.add(task)
      return () => tasks.delete(task)
    },
    pause: async () => {},
    turn: async () => {},
  }
  return {
    timers,
    clock: () => now,
    tick(): void {
      now += 1_000
      for (const task of tasks) task()
    },
  }
}

/** The writer, telling each heartbeat to whoever waits for one. */
function watched(writer: IndexWriter) {
  const waiting = new Set<(index: string, heartbeat: Heartbeat) => void>()
  return {
    writer: {
      ...writer,
      async heartbeat(index: string, heartbeat: Heartbeat) {
        await writer.heartbeat(index, heartbeat)
        for (const tell of waiting) tell(index, heartbeat)
      },
    },
    until: (wanted: (heartbeat: Heartbeat, index: string) => boolean) =>
      new Promise<Heartbeat>((resolve) => {
        const tell = (index: string, heartbeat: Heartbeat): void => {
          if (!wanted(heartbeat, index)) return
          waiting.delete(tell)
          resolve(heartbeat)
        }
        waiting.add(tell)
      }),
  }
}

type Setup = Readonly<{
  stream: Stream
  writer: IndexWriter
  projections?: readonly Projection[]
  decoders?: Decoders
  failures?: ProjectionFailure[]
  besides?: Beside[]
  recovered?: string[]
  /** In place of one that takes no time. */
  turn?: Timers['turn']
  /** Goes on from another run's. */
  time?: ReturnType<typeof createManualTime>
}>

export function start({
  stream,
  writer,
  projections = [counting],
  decoders = lineDecoders,
  failures = [],
  besides = [],
  recovered = [],
  turn,
  time = createManualTime(),
}: Setup) {
  const stop = new AbortController()
  const watch = watched(writer)
  const projector = createProjector({
    stream,
    writer: watch.writer,
    projections,
    decode: createDecoder(decoders),
    clock: time.clock,
    timers: { ...time.timers, ...(turn === undefined ? {} : { turn }) },
    limits: {
      projectorBatchEventsMax: 4,
      projectorBatchRecordsMax: 5,
      projectorBatchBytesMax: 1e6,
      cachedDocumentsMax: 10,
      cachedBytesMax: 1e6,
    },
    onFailure: (failure) => failures.push(failure),
    onRecovered: (projection) => void recovered.push(projection),
    onBeside: (beside) => void besides.push(beside),
  })
  const ended = projector.run(stop.signal)
  ended.catch(() => {})
  return { ...time, until: watch.until, ended, stop: () => (stop.abort(), ended) }
}

/** Ticks until it is at the log's head, and there still after what it decides itself. */
export async function untilAtRest(
  stream: Stream,
  run: Pick<ReturnType<typeof start>, 'tick' | 'until'>,
): Promise<void> {
  for (let head = -1; head !== (await stream.head());) {
    head = await stream.head()
    const wanted = head
    run.tick()
    await run.until(({ position }) => position >= wanted)
  }
}

export async function totals(reader: IndexReader, projection = 'counting'): Promise<Readonly<Record<string, number>>> {
  const scope = { workspaceId: acme, projection, collection: 'counters' }
  const query = { filter: everything, orderBy: 'timeNs', direction: 'asc', limit: 1_000 } as const
  const hits = await reader.search<{ lines: number }>(scope, query)
  return Object.fromEntries(hits.map(({ id, document }) => [id, document.lines]))
}

export const append = (stream: Stream, texts: readonly (readonly string[])[], from = 1) =>
  stream.append(texts.map((lines, n) => lineEvent(from + n, lines)))

export const atHead = async (stream: Stream) => {
  const head = await stream.head()
  return ({ position }: Heartbeat): boolean => position >= head
}
