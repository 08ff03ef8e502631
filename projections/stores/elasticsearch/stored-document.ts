import { parseJson, stringifyJson, textOrJson, type JsonObject } from '#src/lib/json.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import type { Entry } from '../../projection.ts'
import { documentJson, type DocumentForm } from './document.ts'
import { documentKey } from './names.ts'

/** All that Elasticsearch keeps of a document and that matters to readers and writers. `version`: the external one, an entry's position. */
export type StoredDocument = Readonly<{ key: string; routing: string; version: number; source: JsonObject }>

type Header = Omit<StoredDocument, 'source'>

/** A text that is equal exactly for equal documents. `source`: its JSON text, as `stringifyJson` writes it. */
const textWith = ({ key, routing, version }: Header, source: string): string =>
  `${JSON.stringify([key, routing, version])}${source}`

/** Member by member: because of the time, an integer beyond 2^53, `stringifyJson` would otherwise check all the rest too. */
function sourceText(source: JsonObject): string {
  const members = Object.entries(source).map(([name, value]) => `${JSON.stringify(name)}:${stringifyJson(value)}`)
  return `{${members.join(',')}}`
}

export const comparedText = (document: StoredDocument): string => textWith(document, sourceText(document.source))

const expectedHeader = (workspaceId: WorkspaceId, entry: Entry): Header => ({
  key: documentKey(workspaceId, entry.id),
  routing: workspaceId,
  version: entry.position,
})

/** `comparedText` of the document that should be stored for an entry. Written and read documents have the same text form. */
export const expectedText = (form: DocumentForm, workspaceId: WorkspaceId, entry: Entry): string =>
  textWith(expectedHeader(workspaceId, entry), documentJson(form, workspaceId, entry))

/** The document that should be stored for an entry. */
export const expectedDocument = (form: DocumentForm, workspaceId: WorkspaceId, entry: Entry): StoredDocument => ({
  ...expectedHeader(workspaceId, entry),
  source: parseJson(documentJson(form, workspaceId, entry)) as JsonObject,
})

/** For display, field by field. */
export function shownFields({ key, routing, version, source }: StoredDocument): Readonly<Record<string, string>> {
  const fields = Object.entries(source).map(([name, value]) => [name, textOrJson(value)])
  return { _id: key, _routing: routing, _version: String(version), ...Object.fromEntries(fields) }
}
