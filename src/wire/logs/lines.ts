import { afterMark, isSpace, skipSpace } from '#src/lib/json-bytes.ts'

const newline = 0x0a

/**
 * Visits the lines that are not blank. `start` to `end` is without the white space around; `lineStart` is the start of the line with it. Linear in
 * the number of bytes, even with many blank lines. Stops when `visit` returns false.
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
