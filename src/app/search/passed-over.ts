/** What may read like a field and its value in a search, and is a text: one in quotes, and a regular expression (words.ts). */
export const textOrRegex = String.raw`"(?:[^"\\]|\\.)*"|(?<![^\s(:=])\/(?:[^\s/\\[]|\\[^]|\[(?:[^\]\\]|\\[^])*\])+\/(?=[\s)]|$)`

/** The regular expressions of a search, one a line. */
export const regexesIn = (normalized: string): string =>
  [...normalized.matchAll(new RegExp(textOrRegex, 'g'))]
    .map(([text]) => text)
    .filter((text) => text.startsWith('/'))
    .join('\n')

/** A group that is left out is not asked for, whatever stands in it. */
export const leavesGroupOut = (normalized: string): boolean => normalized.includes('NOT (')
