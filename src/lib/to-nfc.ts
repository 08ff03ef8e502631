/** The least length of a piece of text; the most is twice that. */
const pieceCharacters = 256
/** Composes with nothing before it: no mark, no part of a Korean syllable, no vowel of Kirat Rai, no second half of a surrogate pair. */
const beginning = /[^\p{M}\u1160-\u11ff\u{16d67}\u{16d68}\udc00-\udfff]/u

function pieceEnd(text: string, start: number): number {
  const from = start + pieceCharacters
  const offset = text.slice(from, from + pieceCharacters).search(beginning)
  return from + (offset === -1 ? pieceCharacters : offset)
}

/**
 * A text in NFC (Unicode Standard Annex 15), in time linear in its length. A run of marks is sorted, which takes a minute for half a million of
 * them. So a longer run than a piece is normalised in pieces; no text that anybody reads has one.
 */
export function toNfc(text: string): string {
  if (text.length <= pieceCharacters) return text.normalize('NFC')
  let made = ''
  for (let start = 0; start < text.length;) {
    const end = pieceEnd(text, start)
    made += text.slice(start, end).normalize('NFC')
    start = end
  }
  return made
}
