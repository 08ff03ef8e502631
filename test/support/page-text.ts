/** What a browser shows of markup: its text, on one line. Characters stay escaped. */
export const textOf = (markup: string): string =>
  markup
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll(/\s+/g, ' ')
    .trim()
