import { PermanentError } from '#src/lib/failure.ts'
import { parseJson, stringifyJson, type JsonObject } from '#src/lib/json.ts'
import type { Position } from '#src/events/envelope.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import type { DocumentId, Entry } from '../../projection.ts'
import { countedValues, keywordTerm, rowOf, type Row, type Written } from '../row.ts'
import { numberIn, textIn } from './answer-parts.ts'
import {
  bodyField,
  countedField,
  createdField,
  epochField,
  idField,
  keywordsField,
  numberField,
  positionField,
  timeField,
  tokensField,
  workspaceField,
} from './mapping.ts'
import { mappingHint } from './reasons.ts'

const textList = (values: readonly string[]): string =>
  values.length === 1 ? JSON.stringify(values[0]) : JSON.stringify(values)

function indexedJson({ numbers, keywords, ids, tokens }: Row): string {
  let json = ''
  const terms: string[] = []
  for (const [field, values] of keywords) {
    if (values.length > 0) json += `,"${countedField(field)}":${textList(countedValues(values))}`
    for (const value of values) terms.push(keywordTerm(field, value))
  }
  for (const [field, values] of ids) for (const value of values) terms.push(keywordTerm(field, value))
  if (terms.length > 0) json += `,"${keywordsField}":${textList(terms)}`
  for (const [field, value] of numbers) json += `,"${numberField(field)}":${value}`
  for (const [field, text] of tokens) if (text !== '') json += `,"${tokensField(field)}":${JSON.stringify(text)}`
  return json
}

/** What is needed to make a collection's documents. */
export type DocumentForm = Written & Readonly<{ epoch: string }>

/** The document that an entry is indexed as: JSON text, made once. */
export function documentJson(
  { shape, collection, epoch }: DocumentForm,
  workspaceId: WorkspaceId,
  entry: Entry,
): string {
  const { id, position, created, document } = entry
  const row = rowOf(shape, collection, entry)
  const place = `"${idField}":${JSON.stringify(id)},"${workspaceField}":"${workspaceId}"`
  const head = `{${place},"${timeField}":${row.timeNs},"${positionField}":${position}`
  const made = created === undefined ? '' : `,"${createdField}":${created}`
  const body = JSON.stringify(stringifyJson(document))
  return `${head},"${epochField}":${JSON.stringify(epoch)}${made}${indexedJson(row)},"${bodyField}":${body}}`
}

/** Fails without a body, which somebody else's template may have left out: no event is at fault for that. */
export function documentOf(source: JsonObject): object {
  const body = textIn(source[bodyField])
  if (body !== '') return parseJson(body) as object
  throw new PermanentError({
    operation: 'read a document of',
    subject: 'Elasticsearch',
    hint: `it lacks its body: ${mappingHint}`,
  })
}

/** The fields of a document from which its entry is restored. */
export const entrySource: readonly string[] = [positionField, createdField, bodyField]

/** The entry of a stored document. Records have no `created`. */
export function entryOf(collection: string, id: DocumentId, day: string, source: JsonObject): Entry {
  const position: Position = numberIn(source[positionField])
  const made = source[createdField] === undefined ? {} : { created: numberIn(source[createdField]) }
  return { collection, id, day, document: documentOf(source), position, ...made }
}
