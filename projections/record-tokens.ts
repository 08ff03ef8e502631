import {
  bareName,
  fieldToken,
  isCutName,
  numberToken,
  sameAsMessageToken,
  sentinel,
  tellingName,
  valueTokens,
  wholeToken,
  words,
} from '#src/events/tokens.ts'
import type { Json, JsonObject } from '#src/lib/json.ts'

/**
 * How many values of a record, how deep, how much text of one value, and how much of tokens of fields in all can be searched. What
 * is beyond stays in the record and is not found by a search. Part of what an index holds: raise the projections' versions with it.
 */
const searchableMax = { values: 4_096, depth: 32, textCharacters: 1024 * 1024, tokenCharacters: 8 * 1024 * 1024 }

/**
 * What is left for the tokens of one record's fields. Each word of a value stands there behind the name of its field: a megabyte of
 * short words under a long name would be a hundred.
 */
export type TokenRoom = { characters: number }
export const createTokenRoom = (): TokenRoom => ({ characters: searchableMax.tokenCharacters })

/**
 * Names that a log's message may have come from (those of src/wire/logs/aliases.ts). Part of what an index holds: raise
 * the version of logs with it.
 */
const messageNames: readonly string[] = [
  'message',
  'msg',
  'body',
  'log',
  'text',
  'short_message',
  'event',
  'content',
  '@m',
  '@mt',
  'MESSAGE',
]
const bareMessageNames: ReadonlySet<string> = new Set(messageNames.map(bareName))

/** Whether a search may mean the message by this name. */
export const mayBeMessage = (field: string): boolean => bareMessageNames.has(bareName(field))

/** By which names, as searches compare them, one may call the message of a record: those of its fields that it stands in, too. */
export const namesOfMessage = (message: string, fields: JsonObject): readonly string[] => [
  'message',
  ...messageNames.filter((name) => fields[name] === message).map(bareName),
]

type RecordTokenOptions = Readonly<{
  /** The record's message, indexed by itself: a top-level value that equals it is not indexed again word by word. */
  message?: string
  /** Put before every name, such as `resource.`. */
  prefix?: string
  /** Where a record's fields are of several objects: one for all of them. */
  room?: TokenRoom
}>

/** The texts of two `tokens` fields: the words of all string values, and the tokens of all fields (events/tokens.ts). */
type RecordTokens = Readonly<{ values: string; fields: string }>

type Scalar = string | number | bigint | boolean

/** What one value of one field gives to the two texts; without words there is nothing for `values`. */
type ValueTokens = Readonly<{ values: string; fields: string }>

/**
 * What was made of short values, kept by field and value: most records repeat values of others. A field of which this does not
 * hold (ids, addresses) is found out by its first values, and kept no more. All is forgotten at a bound.
 */
type OfField = { tokens: Map<Scalar, ValueTokens> | undefined; met: number }
const kept = new Map<string, OfField>()
const keptMax = { values: 50_000, valuesOfField: 2_048, fields: 10_000, textCharacters: 200 }
let keptValues = 0

function makeTextTokens(name: string, text: string, fieldWordsMax: number): ValueTokens {
  const found = words(text)
  const named = found.length > fieldWordsMax ? found.slice(0, fieldWordsMax) : found
  return { values: found.join(' '), fields: valueTokens(name, text, named).join(' ') }
}

function makeLongTextTokens(name: string, value: string, { characters }: TokenRoom): ValueTokens {
  const cut = value.length > searchableMax.textCharacters ? value.slice(0, searchableMax.textCharacters) : value
  // A word has a character at least, a sign before it and a blank behind it.
  return makeTextTokens(name, cut, Math.floor(characters / (fieldToken(name).length + 3)))
}

function makeTokens(name: string, value: Scalar): ValueTokens {
  if (typeof value === 'string') return makeTextTokens(name, value, Infinity)
  const whole = wholeToken(name, String(value))
  const isNumber = typeof value === 'bigint' || (typeof value === 'number' && Number.isFinite(value))
  return { values: '', fields: isNumber ? `${whole} ${numberToken(name, value)}` : whole }
}

/** What is kept of a field, after all is forgotten where that was too much. */
function keptOf(name: string): OfField {
  if (keptValues >= keptMax.values || kept.size >= keptMax.fields) {
    kept.clear()
    keptValues = 0
  }
  const known = kept.get(name)
  if (known !== undefined) return known
  const made: OfField = { tokens: new Map(), met: 0 }
  kept.set(name, made)
  return made
}

function tokensOfValue(name: string, value: Scalar, room: TokenRoom): ValueTokens {
  if (typeof value === 'string' && value.length > keptMax.textCharacters) return makeLongTextTokens(name, value, room)
  if (isCutName(name)) return makeTokens(name, value)
  const ofField = keptOf(name)
  const { tokens } = ofField
  if (tokens === undefined) return makeTokens(name, value)
  const known = tokens.get(value)
  if (known !== undefined) {
    ofField.met++
    return known
  }
  const made = makeTokens(name, value)
  if (tokens.size < keptMax.valuesOfField) {
    tokens.set(value, made)
    keptValues++
  } else if (ofField.met < tokens.size) ofField.tokens = undefined
  return made
}

/**
 * The tokens of a record's free fields: nested objects by dotted names, lists item by item, each by itself. Strings give
 * their words to `values` and to their field, numbers a sortable token; null, empty lists and empty objects are as absent.
 */
export function fieldTokens(
  object: JsonObject,
  { prefix = '', message, room = createTokenRoom() }: RecordTokenOptions = {},
): RecordTokens {
  const fields: string[] = []
  const values: string[] = []
  let left = searchableMax.values

  const add = (name: string, value: Json, depth: number): void => {
    if (value === null || depth > searchableMax.depth || left <= 0 || room.characters <= 0) return
    if (Array.isArray(value)) {
      for (const item of value as readonly Json[]) add(name, item, depth + 1)
      return
    }
    if (typeof value === 'object') {
      const nested = value as JsonObject
      for (const key of Object.keys(nested)) {
        add(tellingName(`${name}.${key}`), nested[key] as Json, depth + 1)
      }
      return
    }
    left--
    const tokens = tokensOfValue(name, value, room)
    room.characters -= tokens.fields.length + 1
    fields.push(tokens.fields)
    if (tokens.values !== '') values.push(tokens.values)
  }

  for (const key of Object.keys(object)) {
    const value = object[key] as Json
    const name = tellingName(prefix + key)
    if (typeof value === 'string' && value === message && messageNames.includes(key)) {
      fields.push(sameAsMessageToken(name))
    } else add(name, value, 1)
  }
  return { values: values.join(` ${sentinel} `), fields: fields.join(' ') }
}
