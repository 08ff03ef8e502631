/** The beginning of a text, in memory of its own. A `slice` keeps the whole text in memory: a megabyte for each short name that is kept of one. */
export function beginningOf(text: string, charactersMax: number): string {
  if (text.length <= charactersMax) return text
  // UTF-16 in both directions: half of a surrogate pair stays as it is.
  return Buffer.from(text.slice(0, charactersMax), 'utf16le').toString('utf16le')
}
