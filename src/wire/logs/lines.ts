import { afterMark, isSpace, skipSpace } from '#src/lib/json-bytes.ts'

const newline = 0x0a

/**
 * Visits the lines that are not blank, `start` to `end` without the white space around; `lineStart` is before that in front.
 * Linear, however many lines are blank. Where `visit` gives false, no more are visited.
 */
export function eachLine(
  body: Uint8Array,
  visit: (start: number, end: number, lineStart: number) => void | boolean,
): void {
  let from = afterMark(body)
  let start = skipSpace(body, from)
  while (start < body.length) {
    const found = body.indexOf(newline, start)
    const lineEnd = found === -1 ? body.length : found
    let end = lineEnd
    while (isSpace(body[end - 1])) end--
    if (visit(start, end, Math.max(from, body.lastIndexOf(newline, start) + 1)) === false) return
    from = lineEnd
    start = skipSpace(body, from)
  }
}
