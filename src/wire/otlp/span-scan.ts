import { assert } from '#src/lib/assert.ts'
import type { Limits } from '#src/config.ts'
import { refusal, type Refusal } from '#src/events/refusal.ts'

export type ScanLimits = Pick<Limits, 'recordsPerBatchMax' | 'nodesPerRequestMax' | 'nestingDepthMax' | 'jsonDepthMax'>

/** Ids in lower-case hex. For an invalid span they may be partial, or ''. */
type SpanIdentity = Readonly<{ traceId: string; spanId: string }>
type InvalidSpan = SpanIdentity & Readonly<{ index: number; reason: string }>

/** What is known about a request's spans before any is decoded. Spans are numbered from 0 in request order. */
export type SpanScan = Readonly<{
  spans: number
  /** The spans without usable ids, in order, each with the reason in words. */
  invalid: readonly InvalidSpan[]
  identify(index: number): SpanIdentity
  valid(index: number): boolean
  /**
   * A request with only the kept spans, each copied byte for byte under its own resource and scope. All else of the messages around them is copied
   * too. Groups that are left without a span may be dropped.
   */
  cut(keep: (index: number) => boolean): Uint8Array
}>

/** `records`: how many spans were counted before the limit stopped it. */
export const tooManySpans = ({ recordsPerBatchMax }: ScanLimits, records: number): Refusal =>
  refusal('payload_too_large', `more than ${recordsPerBatchMax} spans in one request: send smaller batches`, {
    records,
  })

export function tooManyNodes({ nodesPerRequestMax }: ScanLimits, records: number): Refusal {
  const most = `${nodesPerRequestMax} attributes, events, links and list items`
  return refusal('payload_too_large', `more than ${most} in one request: send smaller batches`, { records })
}

/** Why a span is invalid; 0 for a valid one. */
export const faults = {
  none: 0,
  traceIdMissing: 1,
  traceIdZero: 2,
  traceIdMalformed: 3,
  spanIdMissing: 4,
  spanIdZero: 5,
  spanIdMalformed: 6,
  notASpan: 7,
} as const

const faultTexts = [
  '',
  'trace_id is missing',
  'trace_id is all zero',
  'trace_id is not 16 bytes',
  'span_id is missing',
  'span_id is all zero',
  'span_id is not 8 bytes',
  'the span is not an object',
]

/** The columns of a span's row: its range in the body, the ranges of its ids (start -1: it has none), and its fault. */
export const columns = {
  start: 0,
  end: 1,
  traceStart: 2,
  traceLength: 3,
  spanStart: 4,
  spanLength: 5,
  fault: 6,
} as const
const width = 7

/** Rows of numbers in one growable typed array, so that a request of 10,000 spans makes no object per span. */
export type SpanTable = { cells: Int32Array; count: number }

export const createSpanTable = (): SpanTable => ({ cells: new Int32Array(width * 64), count: 0 })

/** The ranges of the ids of the span being scanned; start -1: it has none. */
export type IdPlaces = { traceStart: number; traceLength: number; spanStart: number; spanLength: number }

/** Adds the row of a span with the range `start` to `end`. */
export function addSpan(table: SpanTable, start: number, end: number, ids: Readonly<IdPlaces>, fault: number): void {
  const row = table.count * width
  if (row === table.cells.length) {
    const cells = new Int32Array(table.cells.length * 2)
    cells.set(table.cells)
    table.cells = cells
  }
  table.count++
  const { cells } = table
  cells[row + columns.start] = start
  cells[row + columns.end] = end
  cells[row + columns.traceStart] = ids.traceStart
  cells[row + columns.traceLength] = ids.traceLength
  cells[row + columns.spanStart] = ids.spanStart
  cells[row + columns.spanLength] = ids.spanLength
  cells[row + columns.fault] = fault
}

/** One cell of a finished table. */
export function cellOf(table: SpanTable, index: number, column: number): number {
  assert(index >= 0 && index < table.count, 'a span of this scan')
  return table.cells[index * width + column] as number
}

type Parts = Readonly<{
  table: SpanTable
  /** Hex digits of an id from its range in the body; `digits` is the full length. */
  hexOf: (start: number, length: number, digits: number) => string
  cut: SpanScan['cut']
}>

/** The scan's result over a finished table. */
export function createSpanScan({ table, hexOf, cut }: Parts): SpanScan {
  const identify = (index: number): SpanIdentity => {
    const id = (start: number, length: number, digits: number): string => {
      const at = cellOf(table, index, start)
      return at < 0 ? '' : hexOf(at, cellOf(table, index, length), digits)
    }
    return {
      traceId: id(columns.traceStart, columns.traceLength, 32),
      spanId: id(columns.spanStart, columns.spanLength, 16),
    }
  }
  const invalid: InvalidSpan[] = []
  for (let index = 0; index < table.count; index++) {
    const fault = cellOf(table, index, columns.fault)
    if (fault !== faults.none) invalid.push({ index, ...identify(index), reason: faultTexts[fault] ?? '' })
  }
  return {
    spans: table.count,
    invalid,
    identify,
    valid: (index) => cellOf(table, index, columns.fault) === faults.none,
    cut,
  }
}
