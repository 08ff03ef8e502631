import { foldShare, type FoldTask } from '#projections/folding/fold-share.ts'
import { createFolding } from '../folding.ts'
import { openLogIn, openSharedWriter, type IndexPlace, type LogPlace } from '../places.ts'

/** A share of a fold, and where its log and its builds are. Plain data, which can be passed to a thread. */
export type PlacedTask = Readonly<{ log: LogPlace; index: IndexPlace; task: FoldTask }>
/** What a folding thread reports: the position it has reached, and in the end that its share is folded. */
export type FoldSaid = number | 'folded'

/** Folds the share over connections of its own. `onProgress` is told each position reached. */
export async function foldPlaced(
  { log, index, task }: PlacedTask,
  onProgress: (position: number) => void,
): Promise<void> {
  const stream = await openLogIn(log)
  try {
    const writer = await openSharedWriter(index, task.share)
    try {
      await foldShare(task, { stream, writer, ...createFolding(), onProgress })
    } finally {
      await writer.close()
    }
  } finally {
    await stream.close()
  }
}
