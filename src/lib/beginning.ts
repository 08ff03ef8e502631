/**
 * The beginning of a text, in memory of its own: what `slice` gives keeps the whole text in memory, so that a megabyte stays for each
 * name that is kept of one.
 */
export function beginningOf(text: string, charactersMax: number): string {
  if (text.length <= charactersMax) return text
  // UTF-16 on both ways: half a surrogate pair stays half a pair.
  return Buffer.from(text.slice(0, charactersMax), 'utf16le').toString('utf16le')
}
