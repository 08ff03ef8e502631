import type { WorkspaceId } from '#src/events/workspace-id.ts'
import { dayBefore, dayOf } from '#src/lib/day.ts'
import type { FirstEvent } from '#streams/stream.ts'
import { seenEvents, withSeenEvents } from '../folding/seen-events.ts'
import type { IndexAudit, Part } from '../index-audit.ts'
import type { IndexName } from '../index-store.ts'
import { collectionsOf, type DocumentId, type Projection } from '../projection.ts'
import type { FirstDay } from '../retention/first-days.ts'

/**
 * Which days of an index can be compared with a fold of what is left of the log.
 *
 * A part that readers no longer see may be there or not. If the log was cut, a document may have been created by an event that is gone. So
 * documents are compared only from the day on whose events find no document from before the cut. A document that is continued from day to day
 * may be in another phase of its look-back there: if the fold has one of its id in the days before, it is not judged, nor what belongs to it, nor
 * the records that are replaced within it.
 */
export type Horizon = Readonly<{
  isSeen(part: Part): boolean
  /** Whether the collection is compared in a part of this day. */
  isTold(collection: string, day: string): boolean
  /** Whether an entry on a later day may rightly differ from the fold. */
  isUnsure(workspaceId: WorkspaceId, collection: string, id: DocumentId): Promise<boolean>
  /** The day from which each collection is compared; undefined if the log was not cut. */
  comparedFrom: Readonly<Record<string, string>> | undefined
}>

type Given = Readonly<{
  projection: Projection
  index: IndexName
  first: FirstEvent | undefined
  firstDay: FirstDay
  /** The fold that the index is compared with. */
  expected: Pick<IndexAudit, 'freeze'>
}>

const daysBetween = (from: string, to: string): readonly string[] => {
  const days: string[] = []
  for (let day = from; day < to; day = dayBefore(day, -1)) days.push(day)
  return days
}

export function createHorizon({ projection, index, first, firstDay, expected }: Given): Horizon {
  const isSeen = ({ workspaceId, day }: Part): boolean => day >= firstDay(workspaceId, projection.name)
  if (first?.isCut !== true) {
    return { isSeen, isTold: () => true, isUnsure: async () => false, comparedFrom: undefined }
  }
  const cutDay = dayOf(first.receivedAt)
  const collections = collectionsOf(withSeenEvents(projection))
  // The day of the cut is only partly in the log; and whether an event counts depends on those seen before it.
  const fromOf = ({ lookbackDays }: { lookbackDays: number }): string =>
    dayBefore(cutDay, -1 - Math.max(lookbackDays, seenEvents.lookbackDays))
  const from = new Map(collections.map((collection) => [collection.name, fromOf(collection)]))
  const ownerOf = (name: string, id: DocumentId) => {
    const collection = collections.find((one) => one.name === name)
    return collection?.belongsTo?.(id) ?? collection?.repeatsWithin?.(id) ?? { collection: name, id }
  }
  return {
    isSeen,
    isTold: (collection, day) => day >= (from.get(collection) ?? ''),
    isUnsure: async (workspaceId, ofCollection, ofId) => {
      const { collection, id } = ownerOf(ofCollection, ofId)
      for (const day of daysBetween(cutDay, from.get(collection) ?? cutDay)) {
        const part = await expected.freeze(index, { workspaceId, day })
        try {
          if ((await part.entry(collection, id)) !== undefined) return true
        } finally {
          await part.release()
        }
      }
      return false
    },
    comparedFrom: Object.fromEntries(from),
  }
}
