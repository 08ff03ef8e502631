import { parseJson, stringifyJson, type Json, type JsonObject } from '#src/lib/json.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import type { Entry } from '../../projection.ts'
import { documentJson, type DocumentForm } from './document.ts'
import { documentKey } from './names.ts'

/** All of a document that Elasticsearch keeps, and readers and writers go by. `version`: its external one, an entry's position. */
export type StoredText = Readonly<{ key: string; routing: string; version: number; source: JsonObject }>

/** Equal for equal documents, and for no others. `source`: its JSON text, as `stringifyJson` would write it. */
const textWith = ({ key, routing, version }: Omit<StoredText, 'source'>, source: string): string =>
  `${JSON.stringify([key, routing, version])}${source}`

/** Member by member: the time is an integer beyond 2^53, for which all of the rest would be looked at one by one. */
function sourceText(source: JsonObject): string {
  const members = Object.entries(source).map(([name, value]) => `${JSON.stringify(name)}:${stringifyJson(value)}`)
  return `{${members.join(',')}}`
}

export const textOf = (text: StoredText): string => textWith(text, sourceText(text.source))

/** Where a document of an entry is, and its version. */
const placeOf = (workspaceId: WorkspaceId, entry: Entry): Omit<StoredText, 'source'> => ({
  key: documentKey(workspaceId, entry.id),
  routing: workspaceId,
  version: entry.position,
})

/** `textOf` what should be stored of an entry. What is written is read back as the same text: neither has another form of any value. */
export const expectedText = (form: DocumentForm, workspaceId: WorkspaceId, entry: Entry): string =>
  textWith(placeOf(workspaceId, entry), documentJson(form, workspaceId, entry))

/** What should be stored of an entry. */
export const expectedDocument = (form: DocumentForm, workspaceId: WorkspaceId, entry: Entry): StoredText => ({
  ...placeOf(workspaceId, entry),
  source: parseJson(documentJson(form, workspaceId, entry)) as JsonObject,
})

const shown = (value: Json): string => (typeof value === 'string' ? value : stringifyJson(value))

/** To be shown, field by field. */
export function shownText({ key, routing, version, source }: StoredText): Readonly<Record<string, string>> {
  const fields = Object.entries(source).map(([name, value]) => [name, shown(value)])
  return { _id: key, _routing: routing, _version: String(version), ...Object.fromEntries(fields) }
}
