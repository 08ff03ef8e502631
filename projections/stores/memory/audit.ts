import { stringifyJson } from '#src/lib/json.ts'
import { compareText } from '#src/lib/compare-text.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import type { Fingerprint, FrozenPart, IndexAudit, Part } from '../../index-audit.ts'
import type { IndexName } from '../../index-store.ts'
import type { DocumentId } from '../../projection.ts'
import { createDigester, fingerprintOf, noSearchItems } from '../digest.ts'
import type { Row } from '../row.ts'
import type { StoredEntry } from './read.ts'
import type { Build } from './build.ts'

const textOfRow = ({ timeNs, numbers, keywords, tokens }: Row): string =>
  stringifyJson([timeNs, [...numbers], [...keywords], [...tokens]])

const textOf = ({ entry, row }: StoredEntry): string => `${stringifyJson(entry)}\n${textOfRow(row)}`

const printOf = (stored: StoredEntry): Fingerprint => ({
  id: stored.entry.id,
  hash: fingerprintOf(textOf(stored)),
  position: stored.entry.position,
})

/** Every collection of a workspace, by the name of its place (`workspace/collection`). */
function* placesOf(build: Build | undefined, workspaceId: string) {
  for (const [place, entries] of build?.stored ?? []) {
    const [workspace = '', collection = ''] = place.split('/')
    if (workspace === workspaceId) yield { place, collection, entries }
  }
}

function freezePart(build: Build | undefined, { workspaceId, day }: Part): FrozenPart {
  const held = new Map<string, readonly StoredEntry[]>()
  for (const { collection, entries } of placesOf(build, workspaceId)) {
    const mine = [...entries.values()].filter(({ entry }) => entry.day === day)
    if (mine.length > 0)
      held.set(
        collection,
        mine.sort((a, b) => compareText(a.entry.id, b.entry.id)),
      )
  }
  const find = (collection: string, id: DocumentId): StoredEntry | undefined =>
    held.get(collection)?.find(({ entry }) => entry.id === id)
  return {
    position: held.size === 0 ? 0 : (build?.checkpoint.position ?? 0),
    exact: true,
    async *entries(collection) {
      for (const { entry } of held.get(collection) ?? []) yield entry
    },
    entry: async (collection, id) => find(collection, id)?.entry,
    digests: async () =>
      [...held].map(([collection, entries]) => {
        const content = createDigester()
        for (const entry of entries) content.add(textOf(entry))
        return { collection, entries: entries.length, content: content.value(), search: '' }
      }),
    async *fingerprints(collection) {
      for (const stored of held.get(collection) ?? []) yield printOf(stored)
    },
    async fingerprint(collection, id) {
      const found = find(collection, id)
      return found && printOf(found)
    },
    ...noSearchItems,
    async stored(collection, id) {
      const found = find(collection, id)
      if (found === undefined) return undefined
      const { document, ...place } = found.entry
      return {
        ...Object.fromEntries(Object.entries(place).map(([name, value]) => [name, String(value)])),
        indexed: textOfRow(found.row),
        document: stringifyJson(document),
      }
    },
    release: async () => {},
  }
}

/** Reads builds in memory whole. */
export function createMemoryAudit(builds: ReadonlyMap<IndexName, Build>): IndexAudit {
  return {
    async parts(index) {
      const found = new Map<string, Part>()
      for (const [place, entries] of builds.get(index)?.stored ?? []) {
        const workspaceId = place.split('/', 1)[0] as WorkspaceId
        for (const { entry } of entries.values())
          found.set(`${workspaceId}/${entry.day}`, { workspaceId, day: entry.day })
      }
      return [...found.values()]
    },
    hold: async () => ({ release: async () => {} }),
    freeze: async (index, part) => freezePart(builds.get(index), part),
    async copy(from, to, workspaceId) {
      const target = builds.get(to)
      for (const { place, entries } of placesOf(builds.get(from), workspaceId)) {
        target?.stored.set(place, new Map(entries))
      }
    },
    close: async () => {},
  }
}
