import { parseKnownRegex } from '#src/lib/regex/parse-regex.ts'
import type { RegexNode } from '#src/lib/regex/regex-node.ts'
import { visible } from '../row.ts'
import type { PatternFilter } from '../pattern.ts'

// Lucene's regular expressions have no Unicode properties, and all stores must match alike. So the term dictionary is asked for what a wider
// expression matches (exact within Latin-1, any character beyond), and our own matcher picks from that.

/** Up to this code, class membership is tested character by character. */
const exactCodes = 0x100

/** A character as itself in a regular expression of Lucene. */
const escaped = (character: string): string => (/^[!-/:-@[-`{-~]$/.test(character) ? `\\${character}` : character)

const escapedText = (text: string): string => Array.from(text, escaped).join('')

/** Whether a JavaScript character class may have characters beyond Latin-1. */
const reachesBeyond = (source: string): boolean => /[^\0-\u007f]|\\[pPDWSsu]|^\[\^/.test(source)

/** A character class in Lucene's syntax, perhaps wider; undefined if it has no characters. */
function classOf(source: string): string | undefined {
  if (source === '.') return '.'
  const test = new RegExp(`^${source}$`, 'su')
  const ranges: [number, number][] = []
  for (let code = 1; code < exactCodes; code++) {
    if (!test.test(String.fromCodePoint(code))) continue
    const last = ranges.at(-1)
    if (last?.[1] === code - 1) last[1] = code
    else ranges.push([code, code])
  }
  if (reachesBeyond(source)) ranges.push([exactCodes, 0x10ffff])
  if (ranges.length === 0) return undefined
  const text = ranges.map(([from, to]) =>
    from === to
      ? escaped(String.fromCodePoint(from))
      : `${escaped(String.fromCodePoint(from))}-${escaped(String.fromCodePoint(to))}`,
  )
  return `[${text.join('')}]`
}

/** An expression that matches nothing: the intersection of two different letters. */
const nothing = '(a&b)'

/** An expression in Lucene's syntax that matches at least all that this one matches. */
function widerRegex(node: RegexNode): string {
  switch (node.kind) {
    case 'character':
      return node.literal === undefined ? (classOf(node.source) ?? nothing) : escaped(node.literal)
    case 'sequence':
      return node.of.length === 0 ? '()' : node.of.map((item) => group(item)).join('')
    case 'choice':
      return node.of.map((item) => group(item)).join('|')
    case 'repeat':
      break
  }
  return group(node.of) + (node.max === null ? `{${node.min},}` : `{${node.min},${node.max}}`)
}

const group = (node: RegexNode): string => (node.kind === 'character' ? widerRegex(node) : `(${widerRegex(node)})`)

/** An expression in Lucene's syntax, with INTERSECTION, that matches at least all that a pattern matches. */
export const widerPattern = ({ prefix, regex }: PatternFilter): string =>
  `(${widerRegex(parseKnownRegex(regex))})&(${escapedText(visible(prefix))}.*)`

/** Any character that a class may reach beyond Latin-1. */
const beyond: RegexNode = { kind: 'character', source: '[\\u{100}-\\u{10ffff}]' }

/** What widerRegex() matches, as an expression of ours. */
export function widened(node: RegexNode): RegexNode {
  if (node.kind === 'repeat') return { ...node, of: widened(node.of) }
  if (node.kind !== 'character') return { ...node, of: node.of.map(widened) }
  const reaches = node.literal === undefined && reachesBeyond(node.source)
  return reaches ? { kind: 'choice', of: [node, beyond] } : node
}

/** Matches any of some words and nothing else. Common prefixes are written once, so that the automaton stays small. */
export function anyWord(words: readonly string[]): string {
  const [first = '', ...others] = words
  if (others.length === 0) return escapedText(first)
  const byStart = new Map<string, string[]>()
  for (const word of words) {
    const [start = ''] = word
    const rest = byStart.get(start) ?? []
    byStart.set(start, rest)
    rest.push(word.slice(start.length))
  }
  const parts = Array.from(byStart, ([start, rest]) => (start === '' ? '()' : escapedText(start) + anyWord(rest)))
  return parts.length === 1 ? (parts[0] ?? '') : `(${parts.join('|')})`
}
