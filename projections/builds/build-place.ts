import type { Position } from '#src/events/envelope.ts'
import type { FoldTask } from '../folding/fold-share.ts'
import type { Folding } from '../folding/folding.ts'
import type { Digest, IndexAudit, Part } from '../index-audit.ts'
import type { IndexName, IndexWriter } from '../index-store.ts'
import type { Projection } from '../projection.ts'
import type { FirstDay } from '../retention/first-days.ts'

/** Between two looks at what a projector has done meanwhile, ms. */
export const pollMs = 100

/** Called with the position of a worker, by its number. */
type ShareProgress = (share: number, position: Position) => void

/** The digests of a part, and the position at which it was. */
export type PartDigests = Readonly<{ position: Position; digests: readonly Digest[] }>

/** Where builds are kept: a partition's index, or a scratch place for builds to compare with. */
export type BuildPlace = Readonly<{
  writer(): IndexWriter
  audit(): IndexAudit
  /** Folds the tasks in parallel, each in a worker of its own, where that is worth it. If one fails, it rejects after all have ended. */
  fold(tasks: readonly FoldTask[], onProgress: ShareProgress, signal: AbortSignal): Promise<void>
  /** Reads a part in another worker, if there is one. */
  digests?(index: IndexName, part: Part): Promise<PartDigests>
}>

async function closing<Opened extends Readonly<{ close(): Promise<void> }>, T>(
  opened: Opened,
  task: (opened: Opened) => Promise<T>,
): Promise<T> {
  try {
    return await task(opened)
  } finally {
    await opened.close()
  }
}

/** Runs a task with a writer of its own. */
export const withWriter = <T>(
  place: Pick<BuildPlace, 'writer'>,
  task: (writer: IndexWriter) => Promise<T>,
): Promise<T> => closing(place.writer(), task)

/** The same with an audit. */
export const withAudit = <T>(place: Pick<BuildPlace, 'audit'>, task: (audit: IndexAudit) => Promise<T>): Promise<T> =>
  closing(place.audit(), task)

/** What rebuild, verify and their commands need of a partition. Made by the composition only. */
export type BuildContext = Folding &
  Readonly<{
    /** How many workers fold in parallel. */
    workers: number
    index: BuildPlace
    /** An empty place beside it; `remove` deletes it with all that it holds. */
    scratch(): Promise<BuildPlace & Readonly<{ remove(): Promise<void> }>>
    /** The first days of receipt that readers see, by the current plans. */
    firstDays(): Promise<FirstDay>
    /** A lock for a projection, held by one process at a time; undefined if another holds it. It ends with the process. */
    lock(projection: string): Promise<Readonly<{ release(): Promise<void> }> | undefined>
  }>

export const projectionNamed = ({ projections }: BuildContext, name: string): Projection | undefined =>
  projections.find((projection) => projection.name === name)
