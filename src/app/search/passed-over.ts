/** A text in quotes. One that nothing closes goes to the end: otherwise each sign in it would be looked behind for its end, as far as the end. */
export const quotedText = String.raw`"(?:[^"\\]|\\.)*"?`

/** What a class of characters takes; as `regexCharactersMax` of src/config.ts, which is handed to searches and not to pages. */
const classCharactersMax = 512
const regexClass = String.raw`\[(?:[^\]\\]|\\[^]){0,${classCharactersMax}}\]`

/** What may read like a field and its value in a search, and is a text: one in quotes, and a regular expression (words.ts). */
export const textOrRegex = String.raw`${quotedText}|(?<![^\s(:=])\/(?:[^\s/\\[]|\\[^]|${regexClass})+\/(?=[\s)]|$)`

/** The regular expressions of a search, one a line. */
export const regexesIn = (normalized: string): string =>
  [...normalized.matchAll(new RegExp(textOrRegex, 'g'))]
    .map(([text]) => text)
    .filter((text) => text.startsWith('/'))
    .join('\n')

/** A group that is left out is not asked for, whatever stands in it. */
export const leavesGroupOut = (normalized: string): boolean => normalized.includes('NOT (')
