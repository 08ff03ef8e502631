import { ownId, parentAt, rowIndex, rowsIn, spanIdAt, type TracePart } from './trace-part.ts'

/** What is known of an id: the part that holds the span, and how many spans name it as their parent. */
type KnownId = { part: number | undefined; named: number }

/** What the parts of a big trace hold, as far as they were read. `rows`: the text of each part, by its number. */
type Held = { traceId: string; rows: (string | undefined)[]; ids: Map<string, KnownId>; missing: number }

/**
 * A cache of the last few big traces, the newest first, so that an event costs what it changes, not the whole trace. An entry is compared with the
 * parts' own text before it is used, so the result depends on the parts alone. A trace may have several entries, because builds are at different
 * positions.
 */
let recent: readonly Held[] = []
const tracesMax = 8
/** The most ids in all entries together; the entry used last is kept in any case. An id takes some 100 bytes. */
const idsMax = 2_000_000

function idIn({ ids }: Held, id: string): KnownId {
  const known = ids.get(id)
  if (known !== undefined) return known
  const added = { part: undefined, named: 0 }
  ids.set(ownId(id), added)
  return added
}

const isMissing = ({ part, named }: KnownId): boolean => part === undefined && named > 0

/** Changes what is known of an id, and with it the number of missing ids. */
function change(held: Held, id: string, by: (known: KnownId) => void): void {
  const known = idIn(held, id)
  if (isMissing(known)) held.missing--
  by(known)
  if (isMissing(known)) held.missing++
  else if (known.part === undefined) held.ids.delete(id)
}

function rename(held: Held, parentSpanId: string | null, by: 1 | -1): void {
  if (parentSpanId === null) return
  change(held, parentSpanId, (known) => {
    known.named += by
  })
}

/** Like `startsWith`, which compares a part's rows character by character, even with themselves, and is 30 times as slow. */
const beginWith = (rows: string, before: string): boolean => rows === before || rows.slice(0, before.length) === before

/** Whether these are the earlier rows, perhaps repeated with changes, and maybe more rows after them. */
function continues(rows: string, before: string): boolean {
  if (beginWith(rows, before)) return true
  if (rows.length < before.length) return false
  for (let row = 0; row < rowsIn(before); row++) if (spanIdAt(rows, row) !== spanIdAt(before, row)) return false
  return true
}

const fits = (held: Held, parts: readonly TracePart[]): boolean => {
  const before = ({ number }: TracePart): string | undefined => held.rows[number]
  const known = parts.filter((part) => before(part) !== undefined)
  const isWhole = known.length === held.rows.filter((rows) => rows !== undefined).length
  return isWhole && known.every((part) => continues(part.rows, before(part) ?? ''))
}

/** Takes over what has changed in a part. */
function read(held: Held, { number, rows }: TracePart): void {
  const before = held.rows[number] ?? ''
  held.rows[number] = rows
  if (!beginWith(rows, before)) {
    for (let row = 0; row < rowsIn(before); row++) {
      const [was, is] = [parentAt(before, row), parentAt(rows, row)]
      if (was === is) continue
      rename(held, was, -1)
      rename(held, is, 1)
    }
  }
  for (let row = rowsIn(before); row < rowsIn(rows); row++) {
    change(held, spanIdAt(rows, row), (known) => {
      known.part ??= number
    })
    rename(held, parentAt(rows, row), 1)
  }
}

function remember(held: Held): void {
  let ids = 0
  recent = [held, ...recent.filter((other) => other !== held)].filter((one, at) => {
    ids += one.ids.size
    return at === 0 || (at < tracesMax && ids <= idsMax)
  })
}

/** What several parts of one trace hold together. Use the result before the next call, which may change it. */
function heldBy(parts: readonly TracePart[]): Held {
  const traceId = parts[0]?.traceId ?? ''
  const fitting = recent.filter((held) => held.traceId === traceId && fits(held, parts))
  const [held = { traceId, rows: [], ids: new Map<string, KnownId>(), missing: 0 }] = fitting.sort(
    (a, b) => b.ids.size - a.ids.size,
  )
  for (const part of parts) read(held, part)
  remember(held)
  return held
}

/** The number of the part that holds a span. Use it before other parts are looked at. */
type PartOf = (spanId: string) => number | undefined

/** How many distinct parents a part does not hold. */
function missingOf(part: TracePart): number {
  const index = rowIndex(part)
  const missing = new Set<string>()
  for (let row = 0; row < rowsIn(part.rows); row++) {
    const parent = parentAt(part.rows, row)
    if (parent !== null && !index.has(parent)) missing.add(parent)
  }
  return missing.size
}

/** Where the spans of the parts are, and how many distinct parents none of the parts holds. */
export function togetherIn(parts: readonly TracePart[]): Readonly<{ partOf: PartOf; missing: number }> {
  const [first] = parts
  if (parts.length <= 1) return { partOf: holderIn(parts), missing: first === undefined ? 0 : missingOf(first) }
  const { ids, missing } = heldBy(parts)
  return { partOf: (spanId) => ids.get(spanId)?.part, missing }
}

export function holderIn(parts: readonly TracePart[]): PartOf {
  const [first] = parts
  if (first === undefined) return () => undefined
  if (parts.length > 1) return togetherIn(parts).partOf
  return (spanId) => (rowIndex(first).has(spanId) ? first.number : undefined)
}
