import { parseRegex } from '#src/lib/regex/parse-regex.ts'
import type { Reader } from './reader.ts'

const regexCharactersMax = 512

/** Refuses a regular expression that is not one of lib/regex, at its place in the query. */
export function checkRegex(reader: Reader, source: string, start: number): void {
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
