import { setImmediate as yieldToOthers } from 'node:timers/promises'
import type { Digest, FrozenPart, IndexAudit, Part } from '../../index-audit.ts'
import type { IndexName } from '../../index-store.ts'
import type { Collection, Entry, Projection } from '../../projection.ts'
import { createDigester } from '../digest.ts'
import { shapeOf } from '../row.ts'
import type { DocumentForm } from './document.ts'
import { expectedText, hashOf, shownText, textOf, type StoredText } from './stored-text.ts'

/** The projection of a build, as it is stored: with all of its collections. */
export type ProjectionOf = (index: IndexName) => Projection | undefined

/** So many entries are read before others of the process have their turn: reading may block it. */
const entriesInTurn = 500

function formsOf(projection: Projection | undefined, epoch: string): ReadonlyMap<string, DocumentForm> {
  const collections = Object.values(projection?.collections ?? {}) as unknown as readonly Collection[]
  return new Map(collections.map((each) => [each.name, { shape: shapeOf(each), collection: each, epoch }]))
}

function expectPart(held: FrozenPart, forms: ReadonlyMap<string, DocumentForm>, { workspaceId }: Part): FrozenPart {
  const textFor = (entry: Entry): StoredText | undefined => {
    const form = forms.get(entry.collection)
    return form && expectedText(form, workspaceId, entry)
  }
  async function* texts(collection: string) {
    let read = 0
    for await (const entry of held.entries(collection)) {
      if (++read % entriesInTurn === 0) await yieldToOthers()
      const text = textFor(entry)
      if (text !== undefined) yield { entry, text }
    }
  }
  const digestOf = async (collection: string): Promise<Digest> => {
    const content = createDigester()
    let entries = 0
    for await (const { text } of texts(collection)) {
      content.add(textOf(text))
      entries++
    }
    return { collection, entries, content: content.value(), search: '' }
  }
  return {
    position: held.position,
    exact: held.exact,
    entries: (collection) => held.entries(collection),
    entry: (collection, id) => held.entry(collection, id),
    async digests() {
      const all: Digest[] = []
      for (const collection of forms.keys()) {
        const digest = await digestOf(collection)
        if (digest.entries > 0) all.push(digest)
      }
      return all
    },
    async *fingerprints(collection) {
      for await (const { entry, text } of texts(collection)) {
        yield { id: entry.id, hash: hashOf(text), position: entry.position }
      }
    },
    async fingerprint(collection, id) {
      const entry = await held.entry(collection, id)
      const text = entry && textFor(entry)
      return entry && text && { id, hash: hashOf(text), position: entry.position }
    },
    async *searchItems() {},
    async *entriesOf() {},
    async stored(collection, id) {
      const entry = await held.entry(collection, id)
      const text = entry && textFor(entry)
      return text && shownText(text)
    },
    release: () => held.release(),
  }
}

/**
 * What Elasticsearch should hold, told by builds of any engine into which the same events were folded: so an index is compared
 * with a fold that Elasticsearch had no part in.
 */
export function createExpectedAudit(builds: IndexAudit, projectionOf: ProjectionOf, epoch: string): IndexAudit {
  return {
    ...builds,
    freeze: async (index, part) =>
      expectPart(await builds.freeze(index, part), formsOf(projectionOf(index), epoch), part),
  }
}
