import { type SpanTable, cellOf, columns } from './span-scan.ts'

const comma = Uint8Array.of(0x2c)

/**
 * The request with the kept spans only. All bytes of the body are copied, except that each `spans` list holds only its kept spans, joined by commas.
 * `lists` has three numbers per list: its start, its end and the number of its first span.
 */
export function cutJson(
  body: Uint8Array,
  lists: readonly number[],
  table: SpanTable,
  keep: (index: number) => boolean,
): Uint8Array {
  const parts: Uint8Array[] = []
  let copied = 0
  for (let list = 0; list < lists.length; list += 3) {
    const [start = 0, end = 0, first = 0] = lists.slice(list, list + 3)
    parts.push(body.subarray(copied, start))
    copied = end
    let kept = 0
    for (let index = first; index < (lists[list + 5] ?? table.count); index++) {
      if (!keep(index)) continue
      if (kept++ > 0) parts.push(comma)
      parts.push(body.subarray(cellOf(table, index, columns.start), cellOf(table, index, columns.end)))
    }
  }
  parts.push(body.subarray(copied))
  return new Uint8Array(Buffer.concat(parts))
}
