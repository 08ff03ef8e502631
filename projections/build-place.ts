import type { Position } from '#src/events/envelope.ts'
import type { FirstDay } from './first-days.ts'
import type { FoldTask } from './fold-share.ts'
import type { Folding } from './folding.ts'
import type { Digest, IndexAudit, Part } from './index-audit.ts'
import type { IndexName, IndexWriter } from './index-store.ts'
import type { Projection } from './projection.ts'

/** Hears how far each of the workers is, by its number. */
type ShareProgress = (share: number, position: Position) => void

/** Where builds are kept: a partition's index, or a place for builds that are only compared with. */
export type BuildPlace = Readonly<{
  writer(): IndexWriter
  audit(): IndexAudit
  /** Folds the tasks at once, each by a worker of its own; rejects when one has failed, after all have ended. */
  fold(tasks: readonly FoldTask[], onProgress: ShareProgress, signal: AbortSignal): Promise<void>
  /** What a part holds, as its audit tells it, read by a worker beside the caller; where there is one. The part is not written meanwhile. */
  digests?(index: IndexName, part: Part): Promise<readonly Digest[]>
}>

/** Runs a task with a writer of its own. */
export async function withWriter<T>(
  place: Pick<BuildPlace, 'writer'>,
  task: (writer: IndexWriter) => Promise<T>,
): Promise<T> {
  const writer = place.writer()
  try {
    return await task(writer)
  } finally {
    await writer.close()
  }
}

/** What rebuild, verify and what goes with them need of a partition. Only composition makes one. */
export type BuildContext = Folding &
  Readonly<{
    /** How many workers fold at once. */
    workers: number
    index: BuildPlace
    /** An empty place beside it; `remove` takes away all that is in it. */
    scratch(): Promise<BuildPlace & Readonly<{ remove(): Promise<void> }>>
    /** The first days of receipt that readers see, by the plans of now. */
    firstDays(): Promise<FirstDay>
    /** Held by one process at a time, for a projection; undefined when another holds it. It ends with the process. */
    lock(projection: string): Promise<Readonly<{ release(): Promise<void> }> | undefined>
  }>

export const projectionNamed = ({ projections }: BuildContext, name: string): Projection | undefined =>
  projections.find((projection) => projection.name === name)
