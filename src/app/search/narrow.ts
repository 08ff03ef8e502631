/** A page's search: the conditions, and `q` in its canonical form. */
export type Search = Readonly<{
  path: '/app/logs' | '/app/patterns' | '/app/traces' | '/app/sessions' | '/app/map'
  conditions: URLSearchParams
  normalized: string
}>

/** The address of a search with one more clause; undefined if it is too long for a search, or for an address. */
export type Narrow = (clause: string) => string | undefined

export const addressCharactersMax = 8_000
/** The address, unless it is too long for what lies between browser and server. */
export const bearable = (address: string): string | undefined =>
  address.length > addressCharactersMax ? undefined : address

/** The same as `queryCharactersMax` of src/config.ts, which pages do not receive. */
export const queryCharactersMax = 4_096

const plain: Readonly<Record<string, string>> = {
  '%20': '+',
  '%2C': ',',
  '%2F': '/',
  '%3A': ':',
  '%3D': '=',
  '%40': '@',
}

/** Encodes a value for a query string, with only the escapes that are needed. */
const encode = (text: string): string =>
  encodeURIComponent(text.toWellFormed()).replace(/%(?:20|2C|2F|3A|3D|40)/g, (escape) => plain[escape] ?? escape)

/** Conditions that a search with another `q` drops: the old `q`, and the page. */
const leftOut = ['q', 'cursor', 'limit', 'include']

/** Whether ` AND x` after the canonical text applies to all of it. False if in doubt. */
function takesMore(normalized: string): boolean {
  if (!normalized.includes(' OR ')) return true
  // Regular expressions and escapes may contain quotes and parentheses.
  if (/[/\\]/.test(normalized)) return false
  let [before, outside] = ['', normalized.replace(/"[^"]*"/g, '')]
  while (outside !== before) [before, outside] = [outside, outside.replace(/\([^()]*\)/g, '')]
  return !outside.includes(' OR ')
}

/** Adds clauses to the canonical text of a search's `q`, which, unlike a typed one, never ends in half an escape. */
export function createNarrow({ path, conditions, normalized }: Search): Narrow {
  const others = new URLSearchParams([...conditions].filter(([name]) => !leftOut.includes(name))).toString()
  const given = takesMore(normalized) ? normalized : `(${normalized})`
  const before = given === '' ? '' : `${given} AND `
  const start = `${path}?${others === '' ? '' : `${others}&`}q=${encode(before)}`
  return (clause) => {
    if (before.length + clause.length > queryCharactersMax) return undefined
    return bearable(start + encode(clause))
  }
}

const hourMs = 3_600_000
/** Well below the 24 hours of a search without a range, so that the links of an open page still work for a while. */
const recentMs = 20 * hourMs

/** Conditions for a search around a record; none if a search without a range would reach it. */
export function conditionsAround(timestamp: string, nowMs: number): URLSearchParams {
  const atMs = Date.parse(timestamp)
  if (nowMs - atMs < recentMs) return new URLSearchParams()
  const [from, to] = [atMs - 12 * hourMs, atMs + 12 * hourMs].map((ms) => new Date(ms).toISOString())
  return new URLSearchParams({ from: from ?? '', to: to ?? '' })
}
