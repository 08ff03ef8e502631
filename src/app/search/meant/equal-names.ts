import { fieldAsked, leavesGroupOut } from './passed-over.ts'

// The same has many names: of older conventions and newer ones, and of one sender and another. A search has the one that somebody knows.

/** What attributes were called in OpenTelemetry before, by what they are called now. */
export const renamedSince: Readonly<Record<string, string>> = {
  'http.status_code': 'http.response.status_code',
  'http.method': 'http.request.method',
  'http.url': 'url.full',
  'http.target': 'url.path',
  'db.system': 'db.system.name',
  'db.statement': 'db.query.text',
  'db.name': 'db.namespace',
  'db.operation': 'db.operation.name',
  'net.peer.name': 'server.address',
}

const bySenders: readonly (readonly string[])[] = [
  ['error.type', 'exception.type', 'err.type', 'error.kind', 'error.name', 'err.name'],
  ['error.message', 'exception.message', 'err.message', 'err.msg'],
  ['exception.stacktrace', 'error.stack', 'error.stack_trace', 'err.stack', 'stack_trace'],
  ['user.id', 'enduser.id', 'usr.id', 'user_id', 'userId'],
  ['deployment.environment.name', 'deployment.environment', 'env', 'environment'],
  ['http.response.status_code', 'http.status_code', 'res.statusCode', 'statusCode', 'status'],
]
/** The first group that has a name is the one that counts. */
const groups = [...bySenders, ...Object.entries(renamedSince)]

/** Fields of a search that are looked at: each may be some searches of its own. */
const fieldsMax = 3
/** Searches by other names that are tried. */
const queriesMax = 8

const asked = fieldAsked(':=<>')

/** The other names of a field, behind the place that was named with it. */
function othersOf(typed: string): readonly string[] {
  const [, place = '', name = ''] = /^((?:(?:span|resource|scope|event)\.)?)(.+)$/i.exec(typed) ?? []
  const isIt = (each: string): boolean => each.toLowerCase() === name.toLowerCase()
  const others = groups.find((group) => group.some(isIt))?.filter((each) => !isIt(each)) ?? []
  return others.map((other) => place + other)
}

const withName = (query: string, typed: string, other: string): string =>
  query.replaceAll(asked, (whole, name?: string) => (name === typed ? other : whole))

/** The search that finds something by other names of the same fields; undefined where there is none. `isOwn`: what has one name alone. */
export async function byEqualNames(
  query: string,
  isOwn: (name: string) => boolean,
  isFound: (q: string) => Promise<boolean>,
): Promise<string | undefined> {
  if (leavesGroupOut(query)) return undefined
  const names = new Set([...query.matchAll(asked)].flatMap(({ 1: name }) => name ?? []))
  const renamed = [...names].filter((name) => !isOwn(name) && othersOf(name).length > 0).slice(0, fieldsMax)
  let queries: readonly string[] = [query]
  for (const name of renamed) {
    const there: string[] = []
    for (const each of [name, ...othersOf(name)]) {
      if (!isOwn(each) && (await isFound(`${each}:*`))) there.push(each)
    }
    if (there.length === 0) return undefined
    queries = queries.flatMap((each) => there.map((other) => withName(each, name, other))).slice(0, queriesMax)
  }
  for (const meant of queries) if (meant !== query && (await isFound(meant))) return meant
  return undefined
}
