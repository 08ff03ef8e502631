import {
  bareName,
  fieldToken,
  isCutName,
  numberToken,
  presenceToken,
  sameAsMessageToken,
  sentinel,
  tellingName,
  valueTokens,
  wholeToken,
  words,
} from '#src/events/tokens.ts'
import type { Json, JsonObject } from '#src/lib/json.ts'
import { messageNames } from '#src/wire/logs/aliases.ts'

/**
 * How much of a record can be searched: values, nesting depth, text of one value, and tokens of fields in all. The rest stays in the record but is
 * not found. It is part of what an index holds: if you change it, raise the projections' versions.
 */
const searchableMax = { values: 4_096, depth: 32, textCharacters: 1024 * 1024, tokenCharacters: 8 * 1024 * 1024 }

/**
 * The room left for the tokens of one record's fields. Each word of a value is stored behind the name of its field, so a megabyte of short words
 * under a long name would become a hundred.
 */
export type TokenRoom = { characters: number }
export const createTokenRoom = (): TokenRoom => ({ characters: searchableMax.tokenCharacters })

/** The fields of a record that its message may have come from. */
const topLevelMessageNames: readonly string[] = messageNames.filter((name) => !name.includes('.'))
const bareMessageNames: ReadonlySet<string> = new Set(topLevelMessageNames.map(bareName))

/** Whether a search may mean the message by this name. */
export const mayBeMessage = (field: string): boolean => bareMessageNames.has(bareName(field))

/** The names by which a search may mean the message of a record: `message`, and its fields that hold the same text. */
export const namesOfMessage = (message: string, fields: JsonObject): readonly string[] => [
  'message',
  ...topLevelMessageNames.filter((name) => fields[name] === message).map(bareName),
]

type RecordTokenOptions = Readonly<{
  /** The record's message, which is indexed separately: a top-level value that equals it is not indexed again word by word. */
  message?: string
  /** The top-level field that tells the record's time, which is no text: only that it is there is indexed. */
  datedBy?: string | undefined
  /** Put before every name, such as `resource.`. */
  prefix?: string
  /** If a record's fields come from several objects: the room for all of them. */
  room?: TokenRoom
}>

/** Texts for two `tokens` fields, of a record or of one value of a field: the words of strings, and the tokens of fields (events/tokens.ts). */
type Tokens = Readonly<{ values: string; fields: string }>

type Scalar = string | number | bigint | boolean

/**
 * A cache of the tokens of short values, by field and value, because most records repeat values of others. A field whose first values do not
 * repeat (ids, addresses) is not cached any further. At a bound, all is forgotten.
 */
type OfField = { tokens: Map<Scalar, Tokens> | undefined; met: number }
const kept = new Map<string, OfField>()
const keptMax = { values: 50_000, valuesOfField: 2_048, fields: 10_000, textCharacters: 200 }
let keptValues = 0

function makeTextTokens(name: string, text: string, fieldWordsMax: number): Tokens {
  const found = words(text)
  const named = found.length > fieldWordsMax ? found.slice(0, fieldWordsMax) : found
  return { values: found.join(' '), fields: valueTokens(name, text, named).join(' ') }
}

function makeLongTextTokens(name: string, value: string, { characters }: TokenRoom): Tokens {
  const cut = value.length > searchableMax.textCharacters ? value.slice(0, searchableMax.textCharacters) : value
  // A word has at least one character, a sign before it and a blank after it.
  return makeTextTokens(name, cut, Math.floor(characters / (fieldToken(name).length + 3)))
}

function makeTokens(name: string, value: Scalar): Tokens {
  if (typeof value === 'string') return makeTextTokens(name, value, Infinity)
  const whole = wholeToken(name, String(value))
  const isNumber = typeof value === 'bigint' || (typeof value === 'number' && Number.isFinite(value))
  return { values: '', fields: isNumber ? `${whole} ${numberToken(name, value)}` : whole }
}

/** The cache of a field; the whole cache is cleared first if it has become too large. */
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

function tokensOfValue(name: string, value: Scalar, room: TokenRoom): Tokens {
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
 * The words of a text that stands under this name among the fields of its record, too: from what was kept of those. It does not count as met again,
 * and nothing is made for it, or texts that do not repeat would cost their tokens twice.
 */
export const wordsOfField = (name: string, text: string): string =>
  kept.get(name)?.tokens?.get(text)?.values ?? words(text).join(' ')

/**
 * The tokens of a record's free fields: nested objects by dotted names, lists item by item. Strings add their words to `values` and to their
 * field, numbers a sortable token. Null, empty lists and empty objects count as absent.
 */
export function fieldTokens(
  object: JsonObject,
  { prefix = '', message, datedBy, room = createTokenRoom() }: RecordTokenOptions = {},
): Tokens {
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
    if (key === datedBy) fields.push(presenceToken(name))
    else if (typeof value === 'string' && value === message && topLevelMessageNames.includes(key)) {
      fields.push(sameAsMessageToken(name))
    } else add(name, value, 1)
  }
  return { values: values.join(` ${sentinel} `), fields: fields.join(' ') }
}
