import { numberToken, sameAsMessageToken, sentinel, valueTokens, wholeToken, words } from '#src/events/tokens.ts'
import type { Json, JsonObject } from '#src/lib/json.ts'

/**
 * How many values of a record, how deep and how much text of one value can be searched. What is beyond stays in the record
 * and is not found by a search. Part of what an index holds: raise the projections' versions with it.
 */
const searchableMax = { values: 4_096, depth: 32, textCharacters: 1024 * 1024 }

/** Names that a log's message may have come from (CONTRACT §3). */
export const messageNames: readonly string[] = [
  'message',
  'msg',
  'body',
  'log',
  'text',
  'short_message',
  'event',
  'content',
]

export type RecordTokenOptions = Readonly<{
  /** The record's message, indexed by itself: a top-level value that equals it is not indexed again word by word. */
  message?: string
  /** Put before every name, such as `resource.`. */
  prefix?: string
}>

/** The texts of two `tokens` fields: the words of all string values, and the tokens of all fields (events/tokens.ts). */
export type RecordTokens = Readonly<{ values: string; fields: string }>

/**
 * The tokens of a record's free fields: nested objects by dotted names, lists item by item, each by itself. Strings give
 * their words to `values` and to their field, numbers a sortable token; null, empty lists and empty objects are as absent.
 */
export function fieldTokens(object: JsonObject, options: RecordTokenOptions = {}): RecordTokens {
  const fields: string[] = []
  const values: string[] = []
  let left = searchableMax.values

  const addText = (name: string, text: string): void => {
    const cut = text.length > searchableMax.textCharacters ? text.slice(0, searchableMax.textCharacters) : text
    const found = words(cut)
    append(fields, valueTokens(name, cut, found))
    if (found.length === 0) return
    if (values.length > 0) values.push(sentinel)
    append(values, found)
  }

  const add = (name: string, value: Json, depth: number): void => {
    if (value === null || depth > searchableMax.depth || left <= 0) return
    if (Array.isArray(value)) {
      for (const item of value as readonly Json[]) add(name, item, depth + 1)
      return
    }
    if (typeof value === 'object') {
      for (const [key, item] of Object.entries(value as JsonObject)) add(`${name}.${key}`, item, depth + 1)
      return
    }
    left--
    if (typeof value === 'string') addText(name, value)
    else fields.push(wholeToken(name, String(value)))
    if (typeof value === 'bigint' || (typeof value === 'number' && Number.isFinite(value))) {
      fields.push(numberToken(name, value))
    }
  }

  for (const [key, value] of Object.entries(object)) {
    const name = `${options.prefix ?? ''}${key}`
    if (typeof value === 'string' && value === options.message && messageNames.includes(key)) {
      fields.push(sameAsMessageToken(name))
    } else add(name, value, 1)
  }
  return { values: values.join(' '), fields: fields.join(' ') }
}

/** Many items, without the argument limit of `push(...items)`. */
function append(list: string[], items: readonly string[]): void {
  for (const item of items) list.push(item)
}
