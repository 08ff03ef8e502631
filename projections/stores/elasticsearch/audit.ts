import { stringifyJson } from '#src/lib/json.ts'
import { partitionNumber } from '#src/events/partition.ts'
import { workspaceIdOf, type WorkspaceId } from '#src/events/workspace-id.ts'
import type { Digest, Fingerprint, FrozenPart, IndexAudit, Part } from '../../index-audit.ts'
import type { IndexName } from '../../index-store.ts'
import type { DocumentId } from '../../projection.ts'
import { createDigester, digestsOf, fingerprintOf, noSearchItems } from '../digest.ts'
import { numberIn, objectIn, objectsIn, textIn } from './answer-parts.ts'
import { createWriteBuffer, writeAll } from './bulk.ts'
import { entryOf } from './document.ts'
import { and, ofWorkspace, type Query } from './filter.ts'
import { freezeBuild, type FrozenBuild } from './frozen-build.ts'
import { createIndex } from './indices.ts'
import { missedDays } from './known-days.ts'
import { dayIndex, defaultSettings, idField, positionField, workspaceField, type IndexSettings } from './mapping.ts'
import { dayIn } from './names.ts'
import { connectPlace, type Place, type PlaceOptions } from './place.ts'
import { comparedText, shownFields, type StoredDocument } from './stored-document.ts'

type ElasticsearchAuditOptions = PlaceOptions &
  Readonly<{
    /** How many partitions there are. */
    partitions: number
    settings?: IndexSettings
  }>

/** By the id in the document: a document that somebody else has created may have another key. */
const ofId = (id: DocumentId): Query =>
  id === '' ? { bool: { must_not: [{ exists: { field: idField } }] } } : { term: { [idField]: id } }

const idOf = ({ source }: StoredDocument): DocumentId => textIn(source[idField])

const printOf = (document: StoredDocument): Fingerprint => ({
  id: idOf(document),
  hash: fingerprintOf(comparedText(document)),
  position: numberIn(document.source[positionField]),
})

function freezePart(place: Place, build: FrozenBuild, index: IndexName, { workspaceId, day }: Part): FrozenPart {
  async function* documents(collection: string, query?: Query): AsyncGenerator<StoredDocument> {
    const name = place.names.day(index, collection, day)
    const mine = ofWorkspace(workspaceId)
    if (build.indices.has(name)) yield* build.documents(name, query === undefined ? mine : and([mine, query]))
  }
  const first = async (collection: string, id: DocumentId): Promise<StoredDocument | undefined> => {
    for await (const document of documents(collection, ofId(id))) return document
    return undefined
  }
  const digestOf = async (collection: string): Promise<Digest> => {
    const name = place.names.day(index, collection, day)
    let [content, entries] = [createDigester(), 0]
    const begin = () => {
      content = createDigester()
      entries = 0
      return (document: StoredDocument): void => {
        content.add(comparedText(document))
        entries++
      }
    }
    if (build.indices.has(name)) await build.visit(name, ofWorkspace(workspaceId), begin)
    return { collection, entries, content: content.value(), search: '' }
  }
  return {
    position: build.position,
    exact: false,
    async *entries(collection) {
      for await (const document of documents(collection))
        yield entryOf(collection, idOf(document), day, document.source)
    },
    async entry(collection, id) {
      const document = await first(collection, id)
      return document && entryOf(collection, id, day, document.source)
    },
    digests: () => digestsOf(Object.keys(build.shapes), digestOf),
    async *fingerprints(collection) {
      for await (const document of documents(collection)) yield printOf(document)
    },
    async fingerprint(collection, id) {
      const document = await first(collection, id)
      return document && printOf(document)
    },
    // Elasticsearch itself derives terms and columns from the documents, and keeps checksums of both.
    ...noSearchItems,
    async stored(collection, id) {
      const document = await first(collection, id)
      return document && shownFields(document)
    },
    release: () => build.release(),
  }
}

/** Each page of places scans the whole build. */
const placesAtOnce = 10_000

/** The workspaces, and the indices that hold something of them. */
async function* placesOf(build: FrozenBuild): AsyncGenerator<Readonly<{ name: string; workspace: string }>> {
  const sources = [{ name: { terms: { field: '_index' } } }, { workspace: { terms: { field: workspaceField } } }]
  for (let after: object | undefined; ;) {
    const composite = { size: placesAtOnce, sources, after }
    const answer = await build.count({ aggs: { places: { composite } } })
    const places = objectIn(objectIn(answer['aggregations'])['places'])
    for (const { key } of objectsIn(places['buckets'])) {
      const name = textIn(objectIn(key)['name'])
      // An index that was created after the listing holds nothing that the build's record speaks of.
      if (build.indices.has(name)) yield { name, workspace: textIn(objectIn(key)['workspace']) }
    }
    if (places['after_key'] === undefined) return
    after = objectIn(places['after_key'])
  }
}

/** A document that somebody else has created may name an impossible workspace. */
function workspaceIn(text: string): WorkspaceId | undefined {
  try {
    return workspaceIdOf(text)
  } catch {
    return undefined
  }
}

async function partsOf(build: FrozenBuild, isMine: (workspaceId: WorkspaceId) => boolean): Promise<readonly Part[]> {
  const parts = new Map<string, Part>()
  for await (const { name, workspace } of placesOf(build)) {
    const [workspaceId, day] = [workspaceIn(workspace), dayIn(name)]
    if (workspaceId === undefined || day === undefined || !isMine(workspaceId)) continue
    parts.set(`${workspaceId}/${day}`, { workspaceId, day })
  }
  return [...parts.values()]
}

type Copied = Readonly<{ from: IndexName; to: IndexName; workspaceId: WorkspaceId }>

/** Copies a workspace's documents of a build, index by index, with their versions. */
async function copyDocuments(place: Place, build: FrozenBuild, copied: Copied, settings: IndexSettings): Promise<void> {
  const { elasticsearch, names } = place
  const { from, to, workspaceId } = copied
  for (const shape of Object.values(build.shapes)) {
    for (const name of build.indices) {
      const day = dayIn(name)
      if (day === undefined || name !== names.day(from, shape.name, day)) continue
      const index = names.day(to, shape.name, day)
      const restore = (): Promise<void> => createIndex(elasticsearch, index, dayIndex(shape, settings))
      const { add, flush } = createWriteBuffer(async (operations) => {
        await restore()
        await writeAll({ elasticsearch, epoch: build.epoch, restore }, operations)
      })
      const copy = ({ key, version: position, source }: StoredDocument): Promise<void> =>
        add({ kind: 'index', index, key, workspaceId, position, document: stringifyJson(source) })
      // Copying a document twice does no harm.
      await build.visit(name, ofWorkspace(workspaceId), () => copy)
      await flush()
    }
  }
}

/** Reads whole builds of one partition in Elasticsearch. */
export function createElasticsearchIndexAudit(options: ElasticsearchAuditOptions): IndexAudit {
  const { partition, partitions, settings = defaultSettings } = options
  const place = connectPlace(options)
  const isMine = (workspaceId: WorkspaceId): boolean => partitionNumber(workspaceId, partitions) === partition
  const held = new Map<IndexName, FrozenBuild>()
  const freeze = async (index: IndexName): Promise<FrozenBuild> => {
    const build = held.get(index)
    return build === undefined ? freezeBuild(place, index) : { ...build, release: async () => {} }
  }
  const frozen = async <T>(index: IndexName, task: (build: FrozenBuild) => Promise<T>): Promise<T> => {
    const build = await freeze(index)
    try {
      return await task(build)
    } finally {
      await build.release()
    }
  }
  return {
    parts: (index) => frozen(index, (build) => partsOf(build, isMine)),
    async hold(index) {
      const build = await freezeBuild(place, index)
      held.set(index, build)
      return {
        async release() {
          held.delete(index)
          await build.release()
        },
      }
    },
    async freeze(index, part) {
      return freezePart(place, await freeze(index), index, part)
    },
    lost: (index) => missedDays(place, index),
    copy: (from, to, workspaceId) =>
      frozen(from, (build) => copyDocuments(place, build, { from, to, workspaceId }, settings)),
    async close() {
      for (const build of held.values()) await build.release()
      held.clear()
      await place.elasticsearch.close()
    },
  }
}
