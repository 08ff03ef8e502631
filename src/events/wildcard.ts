import { escapeRegex } from '#src/lib/regex/regex-node.ts'
import { foldCase, isUnspaced, isWordCharacter, words } from './tokens.ts'

/** A piece of a wildcard pattern: `*`, `?`, or literal characters. */
type WildcardPiece = 'any' | 'one' | Readonly<{ literal: string }>

/** The pieces of a pattern; `\` makes the next character literal. Runs of `*` are one. */
export function wildcardPieces(pattern: string): WildcardPiece[] {
  const pieces: WildcardPiece[] = []
  const characters = Array.from(pattern)
  for (let index = 0; index < characters.length; index++) {
    const character = characters[index] ?? ''
    if (character === '*') {
      if (pieces.at(-1) !== 'any') pieces.push('any')
    } else if (character === '?') pieces.push('one')
    else pieces.push({ literal: character === '\\' ? (characters[++index] ?? '\\') : character })
  }
  return pieces
}

/** As they are compared. Not each piece by itself: a capital and its mark may be two characters, and one when they are folded. */
const foldedPieces = (pattern: string): WildcardPiece[] => wildcardPieces(foldCase(pattern))

/** What a pattern asks of the words of a text. */
export type WildcardShape =
  /** These words, adjacent; with `prefix` the last is the beginning of a word. */
  | Readonly<{ kind: 'phrase'; words: readonly string[]; prefix: boolean }>
  /** One word: JavaScript source and what it begins with. */
  | Readonly<{ kind: 'word'; regex: string; prefix: string }>

type Segment = readonly WildcardPiece[]

const isLiteral = (piece: WildcardPiece | undefined): piece is Readonly<{ literal: string }> =>
  typeof piece === 'object'
const onlyAny = (segment: Segment): boolean => segment.every((piece) => piece === 'any')
const mark = /^\p{M}$/u
const wordCharacter = '[\\p{L}\\p{N}\\p{M}]'

/** More characters than a word or a whole value has in any index (tokens.ts). */
const charactersMax = 128

/**
 * As many pieces as decide what a pattern matches. With more characters than any word has, it matches nothing, and neither does its beginning. All
 * pieces of a long pattern would make a larger expression than is allowed.
 */
function tellingPieces(pieces: readonly WildcardPiece[]): readonly WildcardPiece[] {
  let characters = 0
  const end = pieces.findIndex((piece) => piece !== 'any' && ++characters > charactersMax)
  return end === -1 ? pieces : pieces.slice(0, end + 1)
}

const isUnspacedPiece = (piece: WildcardPiece | undefined): boolean => isLiteral(piece) && isUnspaced(piece.literal)

/**
 * Cuts the pattern where the tokenizer cuts, so that each segment is about one token. A wildcard beside a character of an unspaced script may stand
 * for whole tokens too: there it counts as `*`, and the segment that it ends is open on that side.
 */
function segmentsOf(pieces: readonly WildcardPiece[]): Segment[] {
  const segments: WildcardPiece[][] = [[]]
  for (const piece of pieces) {
    const last = segments.at(-1) ?? []
    if (isLiteral(piece) && !isWordCharacter(piece.literal)) segments.push([])
    else if (isUnspacedPiece(piece)) {
      if (isOpen(last)) last.splice(last.findLastIndex(isLiteral) + 1, last.length, 'any')
      segments.push([piece])
    } else if (isUnspacedPiece(last[0])) segments.push(...behindUnspaced(last, piece))
    else last.push(piece)
  }
  return segments.filter((segment) => segment.length > 0)
}

const isOpen = (segment: Segment): boolean => typeof segment.at(-1) === 'string'

/** The segment that begins with this piece; none if the piece belongs to the segment before it, which begins with an unspaced character. */
function behindUnspaced(before: WildcardPiece[], piece: WildcardPiece): WildcardPiece[][] {
  const open = isOpen(before)
  if (isLiteral(piece) && (open || !mark.test(piece.literal))) return [open ? ['any', piece] : [piece]]
  if (!open) before.push(isLiteral(piece) ? piece : 'any')
  return []
}

const literalText = (segment: Segment): string =>
  segment.map((piece) => (isLiteral(piece) ? piece.literal : '')).join('')

function wordShape(segment: Segment): WildcardShape {
  const pieces = tellingPieces(segment)
  const regex = pieces.map((piece) =>
    piece === 'any' ? `${wordCharacter}*` : piece === 'one' ? wordCharacter : escapeRegex(piece.literal),
  )
  const end = pieces.findIndex((piece) => !isLiteral(piece))
  return { kind: 'word', regex: regex.join(''), prefix: literalText(pieces.slice(0, end)) }
}

/** Without stars that stand alone at the ends: `*.acme.com` asks for `acme com`. */
function trimmed(segments: readonly Segment[]): readonly Segment[] {
  if (segments.length === 1) return segments
  const first = segments.findIndex((segment) => !onlyAny(segment))
  const last = segments.findLastIndex((segment) => !onlyAny(segment))
  return first === -1 ? [] : segments.slice(first, last + 1)
}

const isBeginning = (segment: Segment): boolean =>
  segment.length > 1 && segment.at(-1) === 'any' && segment.slice(0, -1).every(isLiteral)

/**
 * The parts of a pattern: one where it can be met exactly, several (each to be met, in any place) where wildcards stand
 * in several words, since a wildcard matches within one word, and in scripts without blanks each character is one. None:
 * nothing in it can be searched.
 */
export function wildcardShapes(pattern: string): readonly WildcardShape[] {
  const segments = trimmed(segmentsOf(foldedPieces(pattern)))
  const shapes: WildcardShape[] = []
  let run: string[] = []
  const endRun = (prefix: boolean): void => {
    const found = words(run.join(' '))
    if (found.length > 0) shapes.push({ kind: 'phrase', words: found, prefix })
    run = []
  }
  for (const segment of segments) {
    const literal = segment.every(isLiteral)
    if (literal || isBeginning(segment)) {
      run.push(literalText(segment))
      if (!literal) endRun(true)
    } else {
      endRun(false)
      if (!onlyAny(segment)) shapes.push(wordShape(segment))
    }
  }
  endRun(false)
  return shapes
}

/** True when wildcards stand only at the end: the words before it, adjacent, are all that is asked. */
export function wildcardAtEndOnly(pattern: string): boolean {
  const pieces = wildcardPieces(pattern)
  return pieces.at(-1) === 'any' && pieces.slice(0, -1).every(isLiteral)
}

/** True when it matches wherever a text has these letters: a star at each end, and only characters of words between. */
export function wildcardIsAnywhere(pattern: string): boolean {
  const pieces = wildcardPieces(pattern)
  const between = pieces.slice(1, -1)
  const ofWords = between.every((piece) => isLiteral(piece) && isWordCharacter(piece.literal))
  return pieces.length > 2 && pieces[0] === 'any' && pieces.at(-1) === 'any' && ofWords
}

/** The pattern over a whole value: a regular expression and what it begins with; `form` gives literals their form. */
export function wildcardOverWhole(
  pattern: string,
  form: (text: string) => string,
): Readonly<{ regex: string; prefix: string }> {
  let prefix = ''
  let regex = ''
  let wild = false
  for (const piece of tellingPieces(foldedPieces(pattern))) {
    if (isLiteral(piece)) {
      const text = form(piece.literal)
      regex += escapeRegex(text)
      if (!wild) prefix += text
    } else {
      wild = true
      regex += piece === 'any' ? '.*' : '.'
    }
  }
  return { regex, prefix }
}
