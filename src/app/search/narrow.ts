/** Pages whose search can be narrowed by a clause. */
export type SearchPath = '/app/logs' | '/app/patterns' | '/app/traces'

/** A search as its page stands: the conditions, and `q` as it was understood. */
export type Search = Readonly<{ path: SearchPath; conditions: URLSearchParams; normalized: string }>

/** The address of a search with one clause more; undefined where a search, or what lies on the way, may not take as much. */
export type Narrow = (clause: string) => string | undefined

export const addressCharactersMax = 8_000
/** The address, if what lies on the way takes as much. */
export const bearable = (address: string): string | undefined =>
  address.length > addressCharactersMax ? undefined : address

/** `queryCharactersMax` of src/config.ts, which is handed to searches and not to pages. */
export const queryCharactersMax = 4_096

const plain: Readonly<Record<string, string>> = {
  '%20': '+',
  '%2C': ',',
  '%2F': '/',
  '%3A': ':',
  '%3D': '=',
  '%40': '@',
}

/** As a value in a query string; shorter and easier to read than with all escapes there are. */
const encode = (text: string): string =>
  encodeURIComponent(text.toWellFormed()).replace(/%(?:20|2C|2F|3A|3D|40)/g, (escape) => plain[escape] ?? escape)

/** Conditions that a search with another `q` does not keep: its own `q`, and where a page of it stood. */
const leftOut = ['q', 'cursor', 'limit', 'include']

/** Whether ` AND x` behind the canonical text of a search is about all of it. Where that is hard to tell, not. */
function takesMore(normalized: string): boolean {
  if (!normalized.includes(' OR ')) return true
  // Regular expressions and escapes may hold quotes and parentheses of their own.
  if (/[/\\]/.test(normalized)) return false
  let [before, outside] = ['', normalized.replace(/"[^"]*"/g, '')]
  while (outside !== before) [before, outside] = [outside, outside.replace(/\([^()]*\)/g, '')]
  return !outside.includes(' OR ')
}

/** Adds clauses to a search: to the canonical text of its `q`, which does not end in half an escape as a typed one may. */
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
/** Well within the 24 hours that a search without a range looks at, so that a page may stay open for a while. */
const recentMs = 20 * hourMs

/** The conditions of a search without a page: the time around a record, where a search without a range would not reach it. */
export function conditionsAround(timestamp: string, nowMs: number): URLSearchParams {
  const atMs = Date.parse(timestamp)
  if (nowMs - atMs < recentMs) return new URLSearchParams()
  const [from, to] = [atMs - 12 * hourMs, atMs + 12 * hourMs].map((ms) => new Date(ms).toISOString())
  return new URLSearchParams({ from: from ?? '', to: to ?? '' })
}
