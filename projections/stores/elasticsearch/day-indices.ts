import type { IndexName, WorkspaceEntries } from '../../index-store.ts'
import { collectionIn } from '../refusals.ts'
import type { Written } from '../row.ts'
import { lostRecord } from './builds.ts'
import { createIndex } from './indices.ts'
import { noteDays } from './known-days.ts'
import { dayIndex, type IndexSettings } from './mapping.ts'
import { isOneOf } from './names.ts'
import type { Place } from './place.ts'

type DaysOptions = Readonly<{
  index: IndexName
  collections: ReadonlyMap<string, Written>
  settings: IndexSettings
  /** Of a writer that folds one build with others; then the days are named when the build is opened next. */
  share: string | undefined
}>

export type DayIndices = ReturnType<typeof createDayIndices>

/** The day indices of a build, made when the first entry of their day is written. `there`: those that exist. */
export function createDayIndices(
  place: Place,
  { index, collections, settings, share }: DaysOptions,
  there: Iterable<string>,
) {
  const { elasticsearch, names } = place
  const known = new Set(there)
  /** Those that were made and are not named in the build's record yet: that may fail, and is then done with the next write. */
  const unnamed = new Set<string>()
  /** By collection and day: cached, because each entry needs one. */
  const cached = new Map<string, Map<string, string>>()
  const of = ({ collection, day }: Readonly<{ collection: string; day: string }>): string => {
    const ofCollection = cached.get(collection) ?? new Map<string, string>()
    const found = ofCollection.get(day)
    if (found !== undefined) return found
    const name = names.day(index, collection, day)
    cached.set(collection, ofCollection.set(day, name))
    return name
  }
  const create = async (name: string, { shape }: Written): Promise<void> => {
    await createIndex(elasticsearch, name, dayIndex(shape, settings))
    known.add(name)
    unnamed.add(name)
  }
  const nameMade = async (): Promise<void> => {
    const made = [...unnamed]
    if (share !== undefined || made.length === 0) return
    if ((await noteDays(place, index, (name) => made.includes(name))) === undefined) throw lostRecord(index)
    for (const name of made) unnamed.delete(name)
  }
  return {
    /** The name of an entry's index. */
    of,
    /** Whether an index exists. */
    has: (name: string): boolean => known.has(name),
    /** Creates the indices of these entries that do not exist yet. */
    async prepare(entries: readonly WorkspaceEntries[]): Promise<void> {
      const missing = new Map<string, Written>()
      for (const entry of entries.flatMap((each) => each.entries)) {
        const name = of(entry)
        if (!known.has(name)) missing.set(name, collectionIn(collections, entry.collection))
      }
      await Promise.all([...missing].map(([name, collection]) => create(name, collection)))
      await nameMade()
    },
    /** Makes one anew that was dropped meanwhile. */
    async restore(this: void, name: string): Promise<void> {
      const ofName = [...collections.values()].find(({ shape }) => isOneOf(names.days(index, shape.name), name))
      if (ofName === undefined) return
      await create(name, ofName)
      await nameMade()
    },
    /** They were removed. */
    forget: (gone: readonly string[]): void => gone.forEach((name) => known.delete(name)),
  }
}
