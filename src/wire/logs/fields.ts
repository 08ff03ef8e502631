import { isJsonObject, type Json, type JsonObject } from '#src/lib/json.ts'

/** A name of an alias list; `first` is what stands before its only dot, '' where it has none. */
type Names = readonly Readonly<{ name: string; first: string; deep: boolean }>[]

export const namesOf = (names: readonly string[]): Names =>
  names.map((name) => {
    const parts = name.split('.')
    return { name, first: parts.length > 1 ? (parts[0] ?? '') : '', deep: parts.length > 2 }
  })

/** Absent, null, or text of nothing but white space. */
const isEmpty = (value: Json | undefined): boolean =>
  value === undefined ||
  value === null ||
  (typeof value === 'string' && (value === '' || (value.charCodeAt(0) <= 0x20 && value.trim() === '')))

/** The value of a field, named with dots or nested, or partly each: `a.b.c` is also `a: {b.c}` and `a: {b: {c}}`. */
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

/** The first of the names whose value is not empty and gives something. */
export function firstOf<T>(
  record: JsonObject,
  names: Names,
  read: (value: Json, name: string) => T | undefined,
): T | undefined {
  for (const { name, first, deep } of names) {
    const nested = deep || (first !== '' && record[first] !== undefined)
    const value = nested ? fieldOf(record, name) : record[name]
    if (value === undefined || isEmpty(value)) continue
    const found = read(value, name)
    if (found !== undefined) return found
  }
  return undefined
}
