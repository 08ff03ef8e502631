import { leavesGroupOut, textOrRegex } from './passed-over.ts'

/** Where a search asks for a value of a field. `text`: as it stands there, at `index`; `replacedBy`: the same search with something else in its place. */
export type PlainClause = Readonly<{
  name: string
  value: string
  text: string
  index: number
  replacedBy: (clause: string) => string
}>

/** The clauses of a search for values of these fields, with no sign of a pattern. */
export function plainClauses(normalized: string, names: readonly string[]): readonly PlainClause[] {
  if (leavesGroupOut(normalized)) return []
  const clauses = new RegExp(
    String.raw`(?<![^\s(])(?<!NOT )(${names.join('|')})[:=](?:"([^"\\]+)"|([^\s()"\\*?[\]<>/]+))(?=[\s)]|$)|${textOrRegex}`,
    'g',
  )
  return [...normalized.matchAll(clauses)].flatMap(({ 0: text, 1: name, 2: quoted, 3: bare = '', index }) => {
    if (name === undefined) return []
    const replacedBy = (clause: string): string =>
      normalized.slice(0, index) + clause + normalized.slice(index + text.length)
    return [{ name, value: quoted ?? bare, text, index, replacedBy }]
  })
}
