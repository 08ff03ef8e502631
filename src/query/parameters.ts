import { z } from 'zod'
import type { Refusal } from '#src/events/refusal.ts'
import { refusal } from '#src/events/refusal.ts'
import { nearest } from '#src/lib/nearest.ts'
import type { Result } from '#src/lib/result.ts'
import { fail, ok } from '#src/lib/result.ts'

/** A client's idea of the workspace is ignored wherever it comes (CONTRACT §1). */
const ignored: readonly string[] = ['workspace', 'workspace_id', 'workspaceId']

/** A parameter that may be repeated or hold a comma-separated list. */
export const listOf = <Item extends z.ZodType>(item: Item, max: number) =>
  z.preprocess((value) => [value].flat().flatMap((text) => String(text).split(',')), z.array(item).min(1).max(max))

/** An optional text; the empty text counts as not given. */
export const text = (charactersMax: number) =>
  z.preprocess((value) => (value === '' ? undefined : value), z.string().max(charactersMax).optional())

/** `limit`: 1 to a maximum. */
export const limitOf = (max: number, usual: number) =>
  z
    .string()
    .regex(/^\d{1,9}$/, 'not a whole number')
    .transform(Number)
    .pipe(z.number().min(1).max(max))
    .default(usual)

function collect(search: string): Map<string, string | string[]> {
  const values = new Map<string, string | string[]>()
  for (const [name, value] of new URLSearchParams(search)) {
    const before = values.get(name)
    values.set(name, before === undefined ? value : [before, value].flat())
  }
  for (const name of ignored) values.delete(name)
  return values
}

/**
 * Reads the query string strictly: every parameter known, each of its form, single ones once. The refusal names the parameter,
 * and for an unknown one the nearest known.
 */
export function readParameters<Shape extends z.ZodRawShape>(
  search: string,
  schema: z.ZodObject<Shape>,
): Result<z.output<z.ZodObject<Shape>>, Refusal> {
  const values = collect(search)
  const known = Object.keys(schema.shape)
  for (const name of values.keys()) {
    if (known.includes(name)) continue
    const meant = nearest(name, known)
    const hint = meant === undefined ? `known are ${known.join(', ')}` : `did you mean ${meant}?`
    const message = `unknown parameter ${JSON.stringify(name)}: ${hint}`
    return fail(refusal('unknown_parameter', message, { errors: [{ path: name, message }] }))
  }
  const parsed = schema.safeParse(Object.fromEntries(values))
  if (parsed.success) return ok(parsed.data)
  const errors = parsed.error.issues.map(({ path, message }) => ({ path: path.join('.'), message }))
  const detail = errors.map(({ path, message }) => `${path}: ${message}`).join('; ')
  return fail(refusal('invalid_parameter', detail, { errors }))
}

/** The parameters as typed, without those that may change from page to page: what a cursor is bound to. */
export function queryFingerprint(search: string): string {
  const values = [...collect(search)].filter(([name]) => !['cursor', 'limit', 'include'].includes(name))
  return JSON.stringify(values.sort(([a], [b]) => (a < b ? -1 : 1)))
}
