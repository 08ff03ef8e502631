const control = /[^\P{Cc}\n\t]/gu

/** What senders have written may be in it, and must not steer the terminal that shows it: as JSON escapes it, which this leaves JSON. */
export const shownSafely = (text: string): string =>
  text.replace(control, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** The same in one line, where another one would pass for one of ours. */
export const shownInLine = (text: string): string => shownSafely(text.replaceAll('\n', String.raw`\n`))
