/** A quoted text. Without a closing quote it goes to the end: otherwise the search for one would begin again at each character, in quadratic time. */
export const quotedText = String.raw`"(?:[^"\\]|\\.)*"?`

/** Bounds a character class, like `regexCharactersMax` of src/config.ts, which pages do not receive. */
const classCharactersMax = 512
const regexClass = String.raw`\[(?:[^\]\\]|\\[^]){0,${classCharactersMax}}\]`

/** Text that may look like a field and its value: a quoted text, or a regular expression (words.ts). */
export const textOrRegex = String.raw`${quotedText}|(?<![^\s(:=])\/(?:[^\s/\\[]|\\[^]|${regexClass})+\/(?=[\s)]|$)`

/** The regular expressions of a search, one per line. */
export const regexesIn = (normalized: string): string =>
  [...normalized.matchAll(new RegExp(textOrRegex, 'g'))]
    .map(([text]) => text)
    .filter((text) => text.startsWith('/'))
    .join('\n')

/** Whether the search excludes a group. Nothing inside such a group is asked for. */
export const leavesGroupOut = (normalized: string): boolean => normalized.includes('NOT (')
