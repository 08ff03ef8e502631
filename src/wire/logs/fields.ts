import { isJsonObject, type Json, type JsonObject } from '#src/lib/json.ts'

/** A name of an alias list, and what stands before each of its dots: a record with none of these heads has no nested form of the name. */
type Names = readonly Readonly<{ name: string; heads: readonly string[] }>[]

export const namesOf = (names: readonly string[]): Names =>
  names.map((name) => {
    const parts = name.split('.')
    return { name, heads: parts.slice(1).map((_, order) => parts.slice(0, order + 1).join('.')) }
  })

function hasAny(record: JsonObject, names: readonly string[]): boolean {
  for (const name of names) if (record[name] !== undefined) return true
  return false
}

/** Absent, null, or a text of white space only. */
const isEmpty = (value: Json | undefined): boolean =>
  value === undefined ||
  value === null ||
  (typeof value === 'string' && (value === '' || (value.charCodeAt(0) <= 0x20 && value.trim() === '')))

export const asText = (value: Json): string | undefined => (typeof value === 'string' ? value : undefined)

/** The value of a field whose name is dotted, nested, or both: `a.b.c` is also `a: {b.c}` and `a: {b: {c}}`. */
export function fieldOf(record: JsonObject, name: string): Json | undefined {
  if (Object.hasOwn(record, name)) return record[name]
  for (let dot = name.indexOf('.'); dot !== -1; dot = name.indexOf('.', dot + 1)) {
    const first = name.slice(0, dot)
    const inner = Object.hasOwn(record, first) ? record[first] : undefined
    if (!isJsonObject(inner)) continue
    const found = fieldOf(inner, name.slice(dot + 1))
    if (found !== undefined) return found
  }
  return undefined
}

/** What `read` gives for the first of the names whose value is not empty and for which it gives something. */
export function firstOf<T>(
  record: JsonObject,
  names: Names,
  read: (value: Json, name: string) => T | undefined,
): T | undefined {
  for (const { name, heads } of names) {
    const value = hasAny(record, heads) ? fieldOf(record, name) : record[name]
    if (value === undefined || isEmpty(value)) continue
    const found = read(value, name)
    if (found !== undefined) return found
  }
  return undefined
}
