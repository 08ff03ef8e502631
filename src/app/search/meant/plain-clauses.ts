import { leavesGroupOut, textOrRegex } from './passed-over.ts'

/**
 * A clause that asks for a field's value. `text`: the clause as it is written, at `index`. `replacedBy`: the same search with something else in its
 * place.
 */
export type PlainClause = Readonly<{
  name: string
  value: string
  text: string
  index: number
  replacedBy: (clause: string) => string
}>

/** The clauses of a search for values of these fields, without wildcards or other patterns. */
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
