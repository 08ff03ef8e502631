/**
 * A regular expression without anything that needs backtracking: characters, `.`, classes, groups, `|`, `* + ? {n,m}`. It
 * matches a text whole.
 */
export type RegexNode =
  /** One character (code point) that the JavaScript class or character `source` matches. */
  | Readonly<{ kind: 'character'; source: string; literal?: string }>
  | Readonly<{ kind: 'sequence' | 'choice'; of: readonly RegexNode[] }>
  | Readonly<{ kind: 'repeat'; of: RegexNode; min: number; max: number | null }>

const syntaxCharacters = /[\^$\\.*+?()[\]{}|/]/g

/** A source that matches the text itself, in JavaScript's syntax with the `u` flag. */
export const escapeRegex = (text: string): string => text.replace(syntaxCharacters, '\\$&')

/** Characters and choices of the expression with its repeats written out. */
export function sizeOf(node: RegexNode): number {
  if (node.kind === 'character') return 1
  if (node.kind === 'repeat') return Math.max(node.min, node.max ?? node.min + 1, 1) * (sizeOf(node.of) + 1)
  return node.of.reduce((sum, item) => sum + sizeOf(item) + 1, 1)
}

/** The expression in JavaScript's syntax (`u` flag), the same for equal expressions. */
export function regexSource(node: RegexNode): string {
  if (node.kind === 'character') return node.source
  if (node.kind === 'repeat') return regexSource(group(node.of, ['character'])) + repeatSign(node)
  const parts = node.of.map((item) => regexSource(group(item, ['character', 'sequence', 'repeat'])))
  return parts.join(node.kind === 'choice' ? '|' : '')
}

/** The node, in parentheses unless it is of a kind that needs none where it stands. */
const group = (node: RegexNode, bare: readonly RegexNode['kind'][]): RegexNode =>
  bare.includes(node.kind) ? node : { kind: 'character', source: `(?:${regexSource(node)})` }

function repeatSign({ min, max }: Readonly<{ min: number; max: number | null }>): string {
  if (max === null) return min === 0 ? '*' : min === 1 ? '+' : `{${min},}`
  if (min === 0 && max === 1) return '?'
  return min === max ? `{${min}}` : `{${min},${max}}`
}

/** What every match begins with. */
export function literalPrefix(node: RegexNode): string {
  if (node.kind === 'character') return node.literal ?? ''
  if (node.kind === 'repeat') return node.min > 0 ? literalPrefix(node.of) : ''
  if (node.kind === 'choice') return commonPrefix(node.of.map(literalPrefix))
  let prefix = ''
  for (const item of node.of) {
    prefix += literalPrefix(item)
    if (!isLiteral(item)) break
  }
  return prefix
}

/** The longest text that every match contains after its beginning, outside of choices; '' if there is none. */
export function literalBehind(node: RegexNode): string {
  let longest = ''
  let current = ''
  let isBehind = false
  const end = (): void => {
    if (isBehind && current.length > longest.length) longest = current
    isBehind = true
    current = ''
  }
  const walk = (item: RegexNode): void => {
    if (item.kind === 'sequence') item.of.forEach(walk)
    else if (item.kind === 'character' && item.literal !== undefined) current += item.literal
    else {
      end()
      if (item.kind !== 'repeat' || item.min === 0) return
      walk(item.of)
      end()
    }
  }
  walk(node)
  end()
  return longest
}

const isLiteral = (node: RegexNode): boolean =>
  node.kind === 'character' ? node.literal !== undefined : node.kind === 'sequence' && node.of.every(isLiteral)

function commonPrefix(texts: readonly string[]): string {
  const [first = '', ...others] = texts
  let length = first.length
  for (const other of others) while (!other.startsWith(first.slice(0, length))) length--
  const common = first.slice(0, length)
  return /[\ud800-\udbff]$/.test(common) ? common.slice(0, -1) : common
}
