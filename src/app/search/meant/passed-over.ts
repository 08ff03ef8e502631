import { quotedText } from '#src/query/searches.ts'

/** Bounds a character class, like `regexCharactersMax` of src/config.ts, which pages do not receive. */
const classCharactersMax = 512
const regexClass = String.raw`\[(?:[^\]\\]|\\[^]){0,${classCharactersMax}}\]`

/** Text that may look like a field and its value: a quoted text, or a regular expression (words.ts). */
export const textOrRegex = String.raw`${quotedText}|(?<![^\s(:=])\/(?:[^\s/\\[]|\\[^]|${regexClass})+\/(?=[\s)]|$)`

/** A field that a search asks for and names as one word, in front of one of these signs. */
export const fieldAsked = (signs: string): RegExp =>
  new RegExp(String.raw`(?<![^\s(])(?<!NOT )([a-z_][\w.@/-]*)(?=[${signs}])|${textOrRegex}`, 'gi')

/** The regular expressions of a search, one per line. */
export const regexesIn = (normalized: string): string =>
  [...normalized.matchAll(new RegExp(textOrRegex, 'g'))]
    .map(([text]) => text)
    .filter((text) => text.startsWith('/'))
    .join('\n')

/** Whether the search excludes a group. Nothing inside such a group is asked for. */
export const leavesGroupOut = (normalized: string): boolean => normalized.includes('NOT (')
