import { positionStep, type Position } from '#src/events/envelope.ts'
import type { BuildTask, FoldTask } from '../folding/fold-share.ts'
import { eventAt, lastFolded } from '../folding/log-tail.ts'
import { withSeenEvents } from '../folding/seen-events.ts'
import type { IndexWriter } from '../index-store.ts'
import { projectionNamed, withWriter, type BuildContext, type BuildPlace } from './build-place.ts'

type FoldSharesOptions = Pick<FoldTask, 'workspaces' | 'eventsPerSecondMax' | 'compares'> &
  Readonly<{
    /** Called with the position that all workers have reached. */
    onProgress?: (position: Position) => void
    signal?: AbortSignal | undefined
  }>

/** Opens the builds, which makes those that are not there, and runs a task on each. */
async function eachBuild(
  context: BuildContext,
  place: BuildPlace,
  builds: readonly BuildTask[],
  task: (writer: IndexWriter, build: BuildTask) => Promise<void>,
): Promise<void> {
  await withWriter(place, async (writer) => {
    for (const build of builds) {
      const projection = projectionNamed(context, build.projection)
      if (projection === undefined) continue
      await writer.open(build.index, withSeenEvents(projection), context.stream.epoch, build.after)
      await task(writer, build)
    }
  })
}

/**
 * Folds builds up to their targets, by all workers in parallel. When it resolves, the builds' own checkpoints are there. After an interruption,
 * the next call goes on where each worker was.
 */
export async function foldShares(
  context: BuildContext,
  place: BuildPlace,
  builds: readonly BuildTask[],
  options: FoldSharesOptions = {},
): Promise<void> {
  const { workers, stream, clock } = context
  const { workspaces, eventsPerSecondMax, compares, onProgress = () => {} } = options
  const left: BuildTask[] = []
  let events = 0
  await eachBuild(context, place, builds, async (writer, { projection, index, after, until }) => {
    const { position } = await writer.checkpoint(index)
    if (position >= until) return
    // Only these fields, whatever else the caller's objects carry: tasks may cross to a thread.
    left.push({ projection, index, after, until })
    events = Math.max(events, Math.ceil((until - position) / positionStep))
  })
  if (left.length === 0) return
  const tasks = Array.from({ length: workers }, (_, number): FoldTask => {
    return { builds: left, events, share: { number, of: workers }, workspaces, eventsPerSecondMax, compares }
  })
  const positions = tasks.map(() => 0)
  const tell = (share: number, position: Position): void => {
    positions[share] = position
    onProgress(Math.min(...positions))
  }
  await place.fold(tasks, tell, options.signal ?? new AbortController().signal)
  await eachBuild(context, place, left, async (writer, { index, until }) => {
    await writer.write(index, [], { epoch: stream.epoch, position: until })
    // `at: 0`: no projector folds it.
    const told = { position: until, head: until, at: 0 }
    const last = await eventAt(stream, until)
    const caughtUpAt = Math.min(clock(), last?.receivedAt ?? 0)
    await writer.heartbeat(index, { ...told, caughtUpAt, ...(last && { last: lastFolded(last) }) })
  })
}
