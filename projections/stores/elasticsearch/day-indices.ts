import type { IndexName, WorkspaceEntries } from '../../index-store.ts'
import type { Collection } from '../../projection.ts'
import { collectionIn } from '../builds.ts'
import type { Written } from '../row.ts'
import type { Place } from './build-record.ts'
import { createIndex, lostRecord } from './builds.ts'
import { noteDays } from './known-days.ts'
import { dayIndex, type IndexSettings } from './mapping.ts'

/** What a writer knows of the day indices of a build. */
export type BuildOfDays = Readonly<{
  index: IndexName
  collections: ReadonlyMap<string, Written>
  /** The existing day indices. */
  known: Set<string>
  /** Those of them that were made and are not named in the build's record yet: that may fail, and is then done with the next write. */
  unnamed: Set<string>
  /** The names of day indices, by collection and day: cached, because each entry needs one. */
  names: Map<string, Map<string, string>>
}>

/** Day indices, made when the first entry of their day is written. */
export type DayIndices = Readonly<{
  /** The name of an entry's index. */
  of(build: BuildOfDays, entry: Readonly<{ collection: string; day: string }>): string
  /** Creates the indices of these entries that do not exist yet. */
  prepare(build: BuildOfDays, entries: readonly WorkspaceEntries[]): Promise<void>
  /** Makes one anew that was dropped meanwhile. */
  restore(build: BuildOfDays, name: string): Promise<void>
}>

/** `share`: of a writer that folds one build with others; then the days are named when the build is opened next. */
export function createDayIndices(
  place: Place,
  { settings, share }: Readonly<{ settings: IndexSettings; share: string | undefined }>,
): DayIndices {
  const { elasticsearch, names } = place
  const note = async (build: BuildOfDays): Promise<void> => {
    const made = [...build.unnamed]
    if (share !== undefined || made.length === 0) return
    const there = await noteDays(place, build.index, (name) => made.includes(name))
    if (there === undefined) throw lostRecord(build.index)
    for (const name of made) build.unnamed.delete(name)
  }
  const create = async (build: BuildOfDays, name: string, collection: Collection): Promise<void> => {
    await createIndex(elasticsearch, name, dayIndex(collection, settings))
    build.known.add(name)
    build.unnamed.add(name)
  }
  const of: DayIndices['of'] = (build, { collection, day }) => {
    const known = build.names.get(collection)?.get(day)
    if (known !== undefined) return known
    const name = names.day(build.index, collection, day)
    const ofCollection = build.names.get(collection) ?? new Map<string, string>()
    build.names.set(collection, ofCollection.set(day, name))
    return name
  }
  return {
    of,
    async prepare(build, entries) {
      const missing = new Map<string, Collection>()
      for (const entry of entries.flatMap((each) => each.entries)) {
        const name = of(build, entry)
        if (!build.known.has(name)) missing.set(name, collectionIn(build.collections, entry.collection).collection)
      }
      await Promise.all([...missing].map(([name, collection]) => create(build, name, collection)))
      await note(build)
    },
    async restore(build, name) {
      const found = [...build.collections.values()].find(({ collection }) =>
        name.startsWith(names.days(build.index, collection.name).slice(0, -1)),
      )
      if (found === undefined) return
      await create(build, name, found.collection)
      await note(build)
    },
  }
}
