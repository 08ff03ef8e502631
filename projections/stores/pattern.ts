const patterns = new Map<string, RegExp>()
const patternsMax = 1_000

/** The regular expression of a `pattern` filter, to be matched against whole tokens. The caller has made sure it is linear. */
export function wholePattern(regex: string): RegExp {
  const known = patterns.get(regex)
  if (known !== undefined) return known
  if (patterns.size >= patternsMax) patterns.clear()
  const made = new RegExp(`^(?:${regex})$`, 'u')
  patterns.set(regex, made)
  return made
}
