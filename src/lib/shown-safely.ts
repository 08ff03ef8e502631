const control = /[^\P{Cc}\n\t]/gu

/** Escapes control characters as JSON does, so that JSON stays JSON: what senders wrote must not steer the terminal that shows it. */
export const shownSafely = (text: string): string =>
  text.replace(control, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** The same in one line: what follows a line break could pass for a line of ours. */
export const shownInLine = (text: string): string => shownSafely(text.replaceAll('\n', String.raw`\n`))
