import { parseJson, stringifyJson, type Json, type JsonObject } from '#src/lib/json.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import type { Entry } from '../../projection.ts'
import { fingerprintOf } from '../digest.ts'
import { documentJson, type DocumentForm } from './document.ts'
import { documentKey } from './names.ts'

/** All of a document that Elasticsearch keeps, and readers and writers go by. `version`: its external one, an entry's position. */
export type StoredText = Readonly<{ key: string; routing: string; version: number; source: JsonObject }>

/** What should be stored of an entry. As it is read back: a document's JSON is not compared byte by byte before it was parsed once. */
export function expectedText(form: DocumentForm, workspaceId: WorkspaceId, entry: Entry): StoredText {
  const source = parseJson(documentJson(form, workspaceId, entry)) as JsonObject
  return { key: documentKey(workspaceId, entry.id), routing: workspaceId, version: entry.position, source }
}

/** Equal for equal documents, and for no others. */
export const textOf = ({ key, routing, version, source }: StoredText): string =>
  stringifyJson([key, routing, version, source])

export const hashOf = (text: StoredText): string => fingerprintOf(textOf(text))

const shown = (value: Json): string => (typeof value === 'string' ? value : stringifyJson(value))

/** To be shown, field by field. */
export function shownText({ key, routing, version, source }: StoredText): Readonly<Record<string, string>> {
  const fields = Object.entries(source).map(([name, value]) => [name, shown(value)])
  return { _id: key, _routing: routing, _version: String(version), ...Object.fromEntries(fields) }
}
