/** Ends the parse of a regular expression, at a position of its source. Never leaves parse-regex.ts. */
export class SyntaxStop extends Error {
  readonly position: number
  constructor(position: number, message: string) {
    super(message)
    this.position = position
  }
}

/** Walks through the source of a regular expression. */
export type Scanner = Readonly<{
  at(): number
  ended(): boolean
  /** The next characters (UTF-16 units), at most so many. */
  ahead(count: number): string
  /** What matches here, stepping over it; undefined when nothing does. */
  take(pattern: RegExp): RegExpExecArray | undefined
  fold(text: string): string
  stop(message: string, position?: number): never
}>

export function createScanner(source: string, fold: (text: string) => string): Scanner {
  let at = 0
  return {
    at: () => at,
    ended: () => at >= source.length,
    ahead: (count) => source.slice(at, at + count),
    take(pattern) {
      const sticky = new RegExp(pattern.source, 'yu')
      sticky.lastIndex = at
      const found = sticky.exec(source)
      if (found !== null) at += found[0].length
      return found ?? undefined
    },
    fold,
    stop(message, position = at) {
      throw new SyntaxStop(position, message)
    },
  }
}
