import type { Position } from '#src/events/envelope.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import { projectionNamed, type BuildContext, type BuildPlace } from './build-place.ts'
import type { BuildTask, FoldTask } from './fold-share.ts'
import type { IndexWriter } from './index-store.ts'
import { lastFoldedAt } from './log-tail.ts'
import { withSeenEvents } from './seen-events.ts'

type FoldSharesOptions = Readonly<{
  workspaces?: readonly WorkspaceId[]
  eventsPerSecondMax?: number
  /** Only to compare with (fold-share.ts). */
  compares?: boolean
  /** Hears the position that all workers have come to. */
  onProgress?: (position: Position) => void
  signal?: AbortSignal
}>

/** Makes the builds, so that workers find them, or says that all of them have come to where they should. */
async function eachBuild(
  { projections, stream }: BuildContext,
  writer: IndexWriter,
  builds: readonly BuildTask[],
  task: (build: BuildTask) => Promise<void>,
): Promise<void> {
  for (const build of builds) {
    const projection = projections.find(({ name }) => name === build.projection)
    if (projection === undefined) continue
    await writer.open(build.index, withSeenEvents(projection), stream.epoch, build.after)
    await task(build)
  }
  await writer.close()
}

/**
 * Folds builds to where they should come, by all workers at once. When it resolves the builds' own checkpoints say so; when it was
 * cut short, the next time goes on where each worker was.
 */
export async function foldShares(
  context: BuildContext,
  place: BuildPlace,
  builds: readonly BuildTask[],
  { workspaces, eventsPerSecondMax, compares, onProgress = () => {}, signal }: FoldSharesOptions = {},
): Promise<void> {
  const { workers, stream } = context
  const left: BuildTask[] = []
  await eachBuild(context, place.writer(), builds, async () => {})
  const reader = place.writer()
  for (const { projection, index, after, until } of builds) {
    if (projectionNamed(context, projection) === undefined) continue
    // Plain data, whatever else the caller's objects carry: it may cross to a thread.
    if ((await reader.checkpoint(index)).position < until) left.push({ projection, index, after, until })
  }
  await reader.close()
  if (left.length === 0) return
  const tasks = Array.from({ length: workers }, (_, number): FoldTask => {
    const pace = eventsPerSecondMax === undefined ? {} : { eventsPerSecondMax }
    return {
      builds: left,
      share: { number, of: workers },
      ...(workspaces === undefined ? {} : { workspaces }),
      ...(compares === undefined ? {} : { compares }),
      ...pace,
    }
  })
  const positions = tasks.map(() => 0)
  const tell = (share: number, position: Position): void => {
    positions[share] = position
    onProgress(Math.min(...positions))
  }
  await place.fold(tasks, tell, signal ?? new AbortController().signal)
  const writer = place.writer()
  await eachBuild(context, writer, left, async ({ index, until }) => {
    await writer.write(index, [], { epoch: stream.epoch, position: until })
    // Of no time: no projector is at work on it.
    const last = await lastFoldedAt(stream, until)
    await writer.heartbeat(index, { position: until, head: until, at: 0, caughtUpAt: 0, ...(last && { last }) })
  })
}
