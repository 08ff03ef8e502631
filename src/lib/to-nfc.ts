/** A piece of a text is at least so long, and at most twice that. */
const pieceCharacters = 256
/** No mark, no part of a Korean syllable, no vowel of Kirat Rai and no half of a character: it is composed with nothing before it. */
const beginning = /[^\p{M}\u1160-\u11ff\u{16d67}\u{16d68}\udc00-\udfff]/u

function pieceEnd(text: string, start: number): number {
  const from = start + pieceCharacters
  const offset = text.slice(from, from + pieceCharacters).search(beginning)
  return from + (offset === -1 ? pieceCharacters : offset)
}

/**
 * A text in NFC (Unicode Standard Annex 15), in time that grows with its length: marks in a row are sorted by each other, which takes a minute for
 * half a million. Some hundreds of them are composed in pieces, as there are in no text that anybody reads.
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
