import { parseRegex } from '#src/lib/regex/parse-regex.ts'
import type { Parse } from './parse.ts'

/** Refuses a regular expression that is not one of lib/regex, at its place in the query. */
export function checkRegex(
  { reader, limits: { regexCharactersMax } }: Pick<Parse, 'reader' | 'limits'>,
  source: string,
  start: number,
): void {
  const expected = ['letters', '.', '[…]', '*', '+', '?', '{n,m}', '|', '( )']
  if (source.length > regexCharactersMax) {
    reader.stop(
      `a regular expression may have at most ${regexCharactersMax} characters`,
      ['/'],
      start + regexCharactersMax,
    )
  }
  const parsed = parseRegex(source)
  if (!parsed.ok)
    reader.stop(`in the regular expression: ${parsed.error.message}`, expected, start + parsed.error.position)
}
