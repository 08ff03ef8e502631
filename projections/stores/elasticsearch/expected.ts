import { setImmediate as yieldToOthers } from 'node:timers/promises'
import type { Digest, Fingerprint, FrozenPart, IndexAudit, Part } from '../../index-audit.ts'
import type { IndexName } from '../../index-store.ts'
import type { Entry, Projection } from '../../projection.ts'
import { createDigester, digestsOf, fingerprintOf, noSearchItems } from '../digest.ts'
import { writtenOf } from '../row.ts'
import type { DocumentForm } from './document.ts'
import { expectedDocument, expectedText, shownFields } from './stored-document.ts'

/** The projection of a build, with all its stored collections. */
type ProjectionOf = (index: IndexName) => Projection | undefined

/** How many entries are read before yielding to the event loop: reading may block. */
const entriesInTurn = 500

function formsOf(projection: Projection | undefined, epoch: string): ReadonlyMap<string, DocumentForm> {
  const written = projection === undefined ? [] : [...writtenOf(projection)]
  return new Map(written.map(([name, each]) => [name, { ...each, epoch }]))
}

function expectPart(held: FrozenPart, forms: ReadonlyMap<string, DocumentForm>, { workspaceId }: Part): FrozenPart {
  const textOf = (form: DocumentForm, entry: Entry): string => expectedText(form, workspaceId, entry)
  const printOf = (form: DocumentForm, entry: Entry): Fingerprint => {
    return { id: entry.id, hash: fingerprintOf(textOf(form, entry)), position: entry.position }
  }
  /** None of a collection that the projection does not have. */
  async function* withForms(collection: string): AsyncGenerator<readonly [form: DocumentForm, entry: Entry]> {
    const form = forms.get(collection)
    if (form === undefined) return
    let read = 0
    for await (const entry of held.entries(collection)) {
      if (++read % entriesInTurn === 0) await yieldToOthers()
      yield [form, entry]
    }
  }
  const digestOf = async (collection: string): Promise<Digest> => {
    const content = createDigester()
    let added = 0
    for await (const [form, entry] of withForms(collection)) {
      content.add(textOf(form, entry))
      added++
    }
    return { collection, entries: added, content: content.value(), search: '' }
  }
  return {
    position: held.position,
    exact: held.exact,
    entries: (collection) => held.entries(collection),
    entry: (collection, id) => held.entry(collection, id),
    digests: () => digestsOf(forms.keys(), digestOf),
    async *fingerprints(collection) {
      for await (const [form, entry] of withForms(collection)) yield printOf(form, entry)
    },
    async fingerprint(collection, id) {
      const entry = await held.entry(collection, id)
      const form = forms.get(collection)
      return entry && form && printOf(form, entry)
    },
    ...noSearchItems,
    async stored(collection, id) {
      const entry = await held.entry(collection, id)
      const form = forms.get(collection)
      return entry && form && shownFields(expectedDocument(form, workspaceId, entry))
    },
    release: () => held.release(),
  }
}

/**
 * What Elasticsearch should hold, computed from builds of another engine into which the same events were folded. So Elasticsearch takes no part in the fold
 * that its index is compared with.
 */
export function createExpectedAudit(builds: IndexAudit, projectionOf: ProjectionOf, epoch: string): IndexAudit {
  return {
    ...builds,
    freeze: async (index, part) =>
      expectPart(await builds.freeze(index, part), formsOf(projectionOf(index), epoch), part),
  }
}
