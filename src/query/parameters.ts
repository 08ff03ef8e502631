import { z } from 'zod'
import { askedTraceId } from '#src/events/ids.ts'
import { parseDurationNs } from '#src/events/quantity.ts'
import { refusal, type Refusal } from '#src/events/refusal.ts'
import { nearest } from '#src/lib/nearest.ts'
import { fail, ok, type Result } from '#src/lib/result.ts'
import { parseQuotedList } from '#src/lib/quoted-list.ts'

/** A workspace that a client names is ignored in any parameter. */
const ignored: readonly string[] = ['workspace', 'workspace_id', 'workspaceId']

/** An optional text. */
export const text = (charactersMax: number) => z.string().max(charactersMax).optional()

/** An optional text that `parse` reads; `what` says in the refusal what it should be. */
export const parsedText = <Value>(parse: (given: string) => Value | undefined, what: string) =>
  z
    .string()
    .transform((given, context): Value => {
      const value = parse(given)
      if (value !== undefined) return value
      context.addIssue({ code: 'custom', message: `not ${what}` })
      return z.NEVER
    })
    .optional()

/** A parameter that may be repeated, or hold a comma-separated list. An item that has commas is quoted, as in a search. */
export const listOf = <Item extends z.ZodType>(item: Item, max: number) => z.array(item).min(1).max(max).optional()

/** A whole number between two bounds. */
export const countOf = (min: number, max: number) =>
  z.number(`not a whole number from ${min} to ${max}`).int().min(min).max(max)

/** `limit`: 1 to a maximum. */
export const limitOf = (max: number, usual: number) =>
  countOf(1, max).default(usual).meta({ description: 'How many items a page holds at most.' })

export const sessionIdCharactersMax = 128
const cursorCharactersMax = 4_096

/** Parameters that several endpoints share. */
export const shared = {
  q: z
    .string()
    .optional()
    .meta({ description: 'A search in the search language.', examples: ['timeout service:checkout'] }),
  trace_id: parsedText(askedTraceId, 'a trace id: 32 (or 16) hex digits, not all zero').meta({
    description: 'Hex, any case, with or without dashes; 16 digits are padded.',
    examples: ['5b8efff798038103d269b633813fc60c'],
  }),
  session_id: text(sessionIdCharactersMax),
  from: text(64).meta({
    description: 'From this time on: RFC 3339, Unix s, ms, µs or ns, or relative (`15m`, `-1h`, `now-2d`).',
    examples: ['-1h', '2026-11-21T07:57:00Z'],
  }),
  to: text(64).meta({ description: 'Up to this time, which is not included; the forms are those of `from`.' }),
  cursor: text(cursorCharactersMax).meta({
    description: '`next_cursor` (or `prev_cursor`) of an earlier answer to the same query.',
  }),
}

/** Also accepts a duration as pages show it, with a blank before the unit: `21.5 ms`. */
const parseShownDurationNs = (typed: string): bigint | undefined =>
  parseDurationNs(typed.trim().replace(/(?<=\d)\s+(?=[a-zµμ]+$)/i, ''))

export const duration = parsedText(parseShownDurationNs, 'a duration such as 200ms, 1.5s, 10us')

/** The schema inside `optional` and `default`. */
function kindOf(schema: unknown): unknown {
  return schema instanceof z.ZodOptional || schema instanceof z.ZodDefault ? kindOf(schema.unwrap()) : schema
}

/** The texts of a query string by name, in order. An empty text counts as not given. */
function collect(search: string): Map<string, string[]> {
  const values = new Map<string, string[]>()
  for (const [name, value] of new URLSearchParams(search)) {
    const texts = values.get(name) ?? []
    if (value !== '') texts.push(value)
    values.set(name, texts)
  }
  for (const name of ignored) values.delete(name)
  return values
}

type Issue = Readonly<{ path: string; message: string }>

const refuseAll = (issues: readonly Issue[]) =>
  fail(
    // A path is a parameter, perhaps with an index into its list; the text only names the parameter.
    refusal('invalid_parameter', issues.map(({ path, message }) => `${path.split('.')[0]}: ${message}`).join('; '), {
      errors: issues,
    }),
  )

export const invalidParameter = (path: string, message: string): Readonly<{ ok: false; error: Refusal }> =>
  refuseAll([{ path, message }])

function unknownParameter(name: string, known: readonly string[]): Readonly<{ ok: false; error: Refusal }> {
  const meant = nearest(name, known)
  const hint = meant === undefined ? `known are ${known.join(', ')}` : `did you mean ${meant}?`
  const message = `unknown parameter ${JSON.stringify(name)}: ${hint}`
  return fail(refusal('unknown_parameter', message, { errors: [{ path: name, message }] }))
}

/** Values of enumerations are lower case, but senders write many of them in capitals (`ERROR`, `SERVER`). */
const ofChoice = (kind: unknown, word: string): string => (kind instanceof z.ZodEnum ? word.toLowerCase() : word)

/** The texts of a parameter in the form that its schema takes: a list, a number, or the text itself. */
function given(kind: unknown, texts: readonly string[]): unknown {
  if (kind instanceof z.ZodArray) {
    return texts.flatMap(parseQuotedList).map((item) => ofChoice(kind.element, item))
  }
  const [only = ''] = texts
  return kind instanceof z.ZodNumber && /^\d{1,9}$/.test(only) ? Number(only) : ofChoice(kind, only)
}

/** What is wrong with a value, in the client's terms. */
function messageOf(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_value') return `not one of ${issue.values.map(String).join(', ')}`
  if (issue.code === 'too_big' && issue.origin === 'string') return `longer than ${issue.maximum} characters`
  if (issue.code === 'too_big' && issue.origin === 'array') return `more than ${issue.maximum} are given`
  if (issue.code === 'too_small' && issue.origin === 'array') return 'nothing is named'
  return issue.message
}

/**
 * Reads the query string strictly: every parameter must be known and valid, and only lists may be repeated. The refusal names the parameter, and for
 * an unknown one the nearest known name.
 */
export function readParameters<Shape extends z.ZodRawShape>(
  search: string,
  schema: z.ZodObject<Shape>,
): Result<z.output<z.ZodObject<Shape>>, Refusal> {
  const values = new Map<string, unknown>()
  const known = Object.keys(schema.shape)
  for (const [name, texts] of collect(search)) {
    if (!known.includes(name)) return unknownParameter(name, known)
    const kind = kindOf(schema.shape[name])
    if (texts.length > 1 && !(kind instanceof z.ZodArray)) return invalidParameter(name, 'given more than once')
    if (texts.length > 0) values.set(name, given(kind, texts))
  }
  const parsed = schema.safeParse(Object.fromEntries(values))
  if (parsed.success) return ok(parsed.data)
  return refuseAll(parsed.error.issues.map((issue) => ({ path: issue.path.join('.'), message: messageOf(issue) })))
}

/** The parameters as typed, without those that may change from page to page. Cursors are bound to this. */
export function queryFingerprint(search: string): string {
  const values = [...collect(search)].filter(
    ([name, texts]) => texts.length > 0 && !['cursor', 'limit', 'include'].includes(name),
  )
  return JSON.stringify(values.sort(([a], [b]) => (a < b ? -1 : 1)))
}
