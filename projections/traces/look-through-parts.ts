import type { RefusalReason } from '#src/events/telemetry.ts'
import { mapInTurns } from '#src/lib/in-turns.ts'
import { ownId, rowIndex, rowsOf, type PartRow, type TracePart } from './trace-part.ts'

/** Reads the parts of a trace, oldest first, page by page; each call starts anew. */
export type PartPages = () => AsyncIterable<readonly TracePart[]>

/** A missing span, and some of the spans that name it as their parent. */
type ReferencedSpan = Readonly<{ spanId: string; referencedBy: readonly string[] }>
/** How often a span was repeated, and the start (sortable) of its last version. */
export type StoredSpan = Readonly<{ start: string; repeats: number }>

export type PartsRead = Readonly<{
  /** The requested spans that are stored. */
  stored: ReadonlyMap<string, StoredSpan>
  missing: readonly ReferencedSpan[]
  /** Spans that were refused and are not stored. */
  refused: ReadonlyMap<string, RefusalReason>
  /** More parents are missing than are listed, or may be. */
  isCut: boolean
}>

/** `missingCount`: the number of missing parents in the trace's summary. */
type Asked = Readonly<{ spanIds: ReadonlySet<string>; missingCount: number }>
/** `openMax`: the most parents in memory that are not yet known to be stored. */
type LookBounds = Readonly<{ openMax: number; missingMax: number; referencesMax: number }>
const usualBounds: LookBounds = { openMax: 100_000, missingMax: 1_000, referencesMax: 20 }

/** Collects the requested spans, and what is missing in the parts read so far. */
function createLook({ spanIds, missingCount }: Asked, { openMax, missingMax }: LookBounds) {
  const stored = new Map<string, StoredSpan>()
  const open = new Set<string>()
  const refused = new Map<string, RefusalReason>()
  let isFull = false

  function store({ spanId, start, repeats }: PartRow): void {
    const before = stored.get(spanId)
    const again = before === undefined ? 0 : before.repeats + 1
    stored.set(ownId(spanId), { start: ownId(start), repeats: repeats + again })
  }
  return {
    /** Removes what these parts hold from what is missing. */
    async settle(this: void, page: readonly TracePart[]): Promise<void> {
      await mapInTurns(page, (part) => {
        for (const spanId of rowIndex(part).keys()) {
          open.delete(spanId)
          refused.delete(spanId)
        }
      })
    },
    async note(this: void, page: readonly TracePart[]): Promise<void> {
      const held = new Set(page.flatMap((part) => [...rowIndex(part).keys()]))
      await mapInTurns(page, (part) => {
        for (const [spanId, reason] of part.refused) refused.set(spanId, reason)
        for (const row of rowsOf(part)) {
          const { parentSpanId } = row
          if (spanIds.has(row.spanId)) store(row)
          if (parentSpanId === null || open.has(parentSpanId) || held.has(parentSpanId)) continue
          if (open.size < openMax) open.add(ownId(parentSpanId))
          else isFull = true
        }
      })
    },
    missing: (): readonly string[] => [...open.values().take(missingMax)],
    read: (missing: readonly ReferencedSpan[]): PartsRead => {
      const isCut = open.size > missingMax || (isFull && open.size < missingCount)
      return { stored, missing, refused, isCut }
    },
  }
}

/** Finds the spans that name these as their parent. Only the last version of each span counts. */
function createReferences(missing: readonly string[], referencesMax: number) {
  const references = new Map(missing.map((spanId) => [spanId, new Set<string>()]))
  const parents = new Map<string, string>()
  return {
    note(this: void, { spanId, parentSpanId }: PartRow): void {
      const before = parents.get(spanId)
      if (before !== undefined && before !== parentSpanId) references.get(before)?.delete(spanId)
      const names = parentSpanId === null ? undefined : references.get(parentSpanId)
      if (names === undefined || parentSpanId === null || names.size >= referencesMax) return
      const own = ownId(spanId)
      names.add(own)
      parents.set(own, ownId(parentSpanId))
    },
    all: (): readonly ReferencedSpan[] =>
      [...references].flatMap(([spanId, by]) => (by.size === 0 ? [] : [{ spanId, referencedBy: [...by] }])),
  }
}

/** Reads the same pages again; a single page is kept in memory. */
function createAgain(pages: PartPages) {
  let count = 0
  let first: readonly TracePart[] = []
  return {
    async *pages(this: void): AsyncGenerator<readonly TracePart[]> {
      for await (const page of pages()) {
        first = count++ === 0 ? page : []
        yield page
      }
    },
    isOne: (): boolean => count <= 1,
    again: (): AsyncIterable<readonly TracePart[]> | Iterable<readonly TracePart[]> => (count <= 1 ? [first] : pages()),
  }
}

/**
 * Reads what the parts of a trace say about some of its spans, and what is missing. Only one page of parts is in memory at a time, and the number of
 * open parents is limited, because a trace may have hundreds of thousands of spans.
 */
export async function lookThroughParts(
  given: PartPages,
  asked: Asked,
  bounds: LookBounds = usualBounds,
): Promise<PartsRead> {
  const { note, settle, missing, read } = createLook(asked, bounds)
  const { pages, isOne, again } = createAgain(given)
  for await (const page of pages()) {
    await note(page)
    await settle(page)
  }
  // A later page may name a parent that an earlier page holds.
  if (!isOne()) for await (const page of again()) await settle(page)
  const references = createReferences(missing(), bounds.referencesMax)
  if (missing().length > 0) {
    for await (const page of again()) {
      await mapInTurns(page, (part) => {
        for (const row of rowsOf(part)) references.note(row)
      })
    }
  }
  return read(references.all())
}
