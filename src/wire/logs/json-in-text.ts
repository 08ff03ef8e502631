import type { Limits } from '#src/config.ts'
import { emptyDeepValues } from '#src/lib/empty-deep-values.ts'
import { isJsonObject, type Json, type JsonObject } from '#src/lib/json.ts'
import { messageNames, traceNames } from './aliases.ts'
import { collectors, messageOfGoogle } from './collectors.ts'
import { messageOfEffect } from './effect.ts'
import { firstOf, namesOf } from './fields.ts'
import { levelOf, namedLevelOf, tellsTime } from './record.ts'
import { ofRuntime } from './runtime.ts'
import { senders } from './senders.ts'
import { servers } from './servers.ts'

/** The longest line that is parsed. Container runtimes cut lines at 16 KiB. */
const charactersMax = 64 * 1024

const messages = namesOf(messageNames)
const traces = namesOf(traceNames)
const isText = (value: Json | undefined): value is string => typeof value === 'string' && /\S/.test(value)

const comma = 0x2c
const openBracket = 0x5b
const openBrace = 0x7b

/** Upper bounds of the number of values, and of lists and objects, in JSON text, found without parsing it. */
function nodesIn(text: string): Readonly<{ values: number; opened: number }> {
  let [commas, opened] = [0, 0]
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === comma) commas++
    else if (code === openBracket || code === openBrace) opened++
  }
  return { values: commas + opened, opened }
}

/**
 * The text without values that are deeper than a record may have them. Parsing exact numbers, and writing a message, recurses once per level, so deep
 * values could exhaust the stack.
 * Throws SyntaxError if the text is not JSON.
 */
function withoutDeepValues(text: string, depthMax: number): string {
  // Checks the syntax. Without a reviver JSON.parse does not exhaust the stack, however deep the text is.
  JSON.parse(text)
  return Buffer.from(emptyDeepValues(Buffer.from(text), depthMax)).toString()
}

const tellsMessage = (line: JsonObject): boolean =>
  firstOf(line, messages, (value) => isText(value) || undefined) ??
  isText(
    messageOfEffect(line) ??
      messageOfGoogle(line) ??
      senders.message(line) ??
      servers.message(line) ??
      collectors.message(line),
  )
const isRecord = (line: JsonObject): boolean => tellsMessage(line) && (levelOf(line) !== undefined || tellsTime(line))

/** The fields of a record, and the JSON line among them that was text. What the line says overrides what stands beside it. */
type TakenApart = Readonly<{ fields: JsonObject; line?: JsonObject | undefined }>

/**
 * Takes apart records whose program wrote JSON lines, which a shipper sent as text beside its metadata of the container. The line's fields then
 * replace the text and override the shipper's. This happens only if the shipper names neither level nor trace and the line is a log record: a message
 * with a level or a time. Any other text that happens to be JSON stays text.
 * The texts of one request may give as many values as a request may have itself; the texts beyond that stay text. `parse` throws SyntaxError like
 * JSON.parse.
 */
export function createTakeApart(
  { nodesPerRequestMax, jsonDepthMax }: Pick<Limits, 'nodesPerRequestMax' | 'jsonDepthMax'>,
  parse: (text: string) => Json,
): (fields: JsonObject) => TakenApart {
  let left = nodesPerRequestMax

  const lineIn = (text: string): JsonObject | undefined => {
    if (left < 0 || text.length > charactersMax || !text.startsWith('{') || !text.endsWith('}')) return undefined
    const { values, opened } = nodesIn(text)
    left -= values
    if (left < 0) return undefined
    try {
      const line = parse(opened > jsonDepthMax ? withoutDeepValues(text, jsonDepthMax) : text)
      return isJsonObject(line) && isRecord(line) ? line : undefined
    } catch (error) {
      if (error instanceof SyntaxError) return undefined
      throw error
    }
  }

  const takeApart = (fields: JsonObject): TakenApart => {
    const name = messageNames.find((each) => isText(fields[each]))
    const said = name === undefined ? undefined : fields[name]
    if (name === undefined || !isText(said)) return { fields }
    const [prefix = '', time, stream] = ofRuntime.exec(said) ?? []
    if (!/^\s*\{/.test(said.slice(prefix.length, prefix.length + 64))) return { fields }
    if (namedLevelOf(fields) !== undefined || firstOf(fields, traces, () => true) === true) return { fields }
    const line = lineIn(said.slice(prefix.length).trim())
    if (line === undefined) return { fields }
    const { [name]: _text, ...others } = fields
    const ofPrefix = time === undefined || stream === undefined ? {} : { time, stream }
    return { fields: { ...ofPrefix, ...others, ...line }, line }
  }

  /** Done twice for Docker's files: their lines are JSON themselves, with the program's line as `log`. */
  return (fields) => {
    const once = takeApart(fields)
    const twice = once.line === undefined ? once : takeApart(once.fields)
    return twice.line === undefined ? once : twice
  }
}
