import { QueryStop } from './refuse.ts'

/** Walks through the text of a query. Positions are UTF-16 units from 0. */
export type Reader = Readonly<{
  text: string
  at(): number
  ended(): boolean
  /** The next character; '' at the end. */
  next(): string
  /** What matches here, without stepping over it. */
  peek(pattern: RegExp): RegExpExecArray | undefined
  /** What matches here, stepping over it. */
  take(pattern: RegExp): RegExpExecArray | undefined
  /** Steps over white space; true when there was some. */
  blanks(): boolean
  moveTo(position: number): void
  /** The text from there on, to be quoted in a message: a position would make people count, and it is not clear from where. */
  quote(position: number): string
  stop(detail: string, expected: readonly string[], position?: number): never
}>

/** Characters of a search that are quoted in words about it. */
const quotedMax = 20

export function createReader(text: string): Reader {
  let at = 0
  const match = (pattern: RegExp): RegExpExecArray | undefined => {
    const sticky = new RegExp(pattern.source, 'uy')
    sticky.lastIndex = at
    return sticky.exec(text) ?? undefined
  }
  const take = (pattern: RegExp): RegExpExecArray | undefined => {
    const found = match(pattern)
    if (found !== undefined) at += found[0].length
    return found
  }
  return {
    text,
    at: () => at,
    ended: () => at >= text.length,
    next: () => text.charAt(at),
    peek: match,
    take,
    blanks: () => take(/\s+/) !== undefined,
    moveTo(position) {
      at = position
    },
    quote(position) {
      const rest = text.slice(position).trim()
      return rest.length > quotedMax ? `\`${rest.slice(0, quotedMax).toWellFormed()}…\`` : `\`${rest}\``
    },
    stop(detail, expected, position = at) {
      throw new QueryStop(position, detail, expected)
    },
  }
}
