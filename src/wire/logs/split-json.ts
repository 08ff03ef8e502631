import {
  afterMark,
  createJsonReader,
  eachItem,
  skipSpace,
  type JsonRange,
  type JsonReader,
} from '#src/lib/json-bytes.ts'
import { fail, ok, type Result } from '#src/lib/result.ts'
import { membersOfWrapper } from './json-members.ts'
import { eachLine } from './lines.ts'
import { recordMark } from './media-type.ts'
import { createTally, type Split, type SplitLimits, type Tally } from './split.ts'
import { hasBeside, foreignListOf, wrapperOf, type Wrapper } from './wrapper.ts'

type JsonMediaType = 'application/json' | 'application/x-ndjson'
/** `isLoose`: something stands between the values that a strict reader of JSON would refuse. */
type Sequence = Readonly<{ values: number; isLoose: boolean; first: JsonRange | undefined }>

/** Where a body stops being JSON. */
type BrokenJson = Readonly<{ offset: number }>

const newline = 0x0a
const comma = 0x2c
const openBracket = 0x5b
const openBrace = 0x7b
const partStarts: ReadonlySet<number> = new Set(Buffer.from('[]}",'))
const partEnds: ReadonlySet<number> = new Set(Buffer.from('[,'))

/**
 * Splits a JSON body into records: an object, an array, `{"logs":[…]}`, `{"events":[…]}`, or a sequence of objects and arrays, on lines of their own
 * or not, or marked as texts of one. A body of several values, or one declared as lines, becomes `application/x-ndjson`, in which wrappers are not
 * unwrapped. If a body of lines is broken, only the broken lines are rejected.
 */
export function splitJson(body: Uint8Array, mediaType: JsonMediaType, limits: SplitLimits): Result<Split, BrokenJson> {
  const reader = createJsonReader(body)
  const tally = createTally(limits.recordsPerBatchMax)
  const sequence = readSequence(body, reader, tally, limits, afterMark(body))
  if (typeof sequence === 'number') {
    if (mediaType === 'application/x-ndjson' || hasWholeLines(body)) return ok(splitLines(body, limits))
    return fail({ offset: ~sequence })
  }
  const single = mediaType === 'application/json' && sequence.values <= 1
  const members = sequence.first === undefined ? [] : membersOfWrapper(body, sequence.first)
  const { wrapper, conditional } = wrapperIn(single ? wrapperOf(members) : undefined)
  const found = wrapper === undefined ? tally : readList(body, wrapper.list, limits)
  return ok({
    mediaType: single ? 'application/json' : 'application/x-ndjson',
    accepted: found.accepted(),
    rejected: found.rejected(),
    total: found.total(),
    values: reader.values(),
    asReceived: found.rejected().length === 0 && !sequence.isLoose && !hasBeside(wrapper),
    wrapper,
    conditional,
    foreignList: foreignListOf(members),
  })
}

/** A wrapper with a condition is a record unless the condition holds for its list. The caller that wants `conditional` checks that. */
const wrapperIn = (given: Wrapper | undefined): Readonly<{ wrapper?: Wrapper | undefined; conditional?: Wrapper }> =>
  given?.condition === undefined ? { wrapper: given } : { conditional: given }

/** The records of a wrapper. It uses a reader of its own, because the values of the whole body are already counted. */
export function readList(body: Uint8Array, list: JsonRange, limits: SplitLimits): Tally {
  const reader = createJsonReader(body)
  const tally = createTally(limits.recordsPerBatchMax)
  eachItem(body, reader, list.start, record(body, reader, tally, limits))
  return tally
}

/** Takes one value as a record, or rejects it. Returns false to stop reading. */
const record =
  (body: Uint8Array, reader: JsonReader, tally: Tally, limits: SplitLimits) =>
  (start: number, end: number): boolean => {
    if (body[start] !== openBrace) return tally.reject('not_an_object', 'a record must be a JSON object')
    if (reader.depth() > limits.jsonDepthMax) {
      return tally.reject('too_deep', `nested deeper than ${limits.jsonDepthMax} levels`)
    }
    return tally.accept(start, end)
  }

const isOver = (tally: Tally, { recordsPerBatchMax }: SplitLimits): boolean => tally.total() > recordsPerBatchMax

/** Reads the values of a body, with or without commas or marks between them, up to one record more than allowed; `~offset` where the JSON is broken. */
function readSequence(
  body: Uint8Array,
  reader: JsonReader,
  tally: Tally,
  limits: SplitLimits,
  start: number,
): Sequence | number {
  const visit = record(body, reader, tally, limits)
  let values = 0
  let isLoose = false
  let first: JsonRange | undefined
  for (let at = skipSpace(body, start); at < body.length; at = skipSpace(body, at)) {
    if (body[at] === recordMark || (body[at] === comma && values > 0)) {
      isLoose = true
      at++
      continue
    }
    const end = body[at] === openBracket ? eachItem(body, reader, at, visit) : reader.value(at)
    if (end < 0) return end
    const goesOn = body[at] === openBracket ? !isOver(tally, limits) : visit(at, end)
    if (values++ === 0) first = { start: at, end }
    if (!goesOn) break
    at = end
  }
  return { values, isLoose, first }
}

/** Parses every line by itself: one that is not JSON is rejected alone. */
function splitLines(body: Uint8Array, limits: SplitLimits): Split {
  const tally = createTally(limits.recordsPerBatchMax)
  let values = 0
  eachLine(body, (start, end) => {
    const undo = tally.mark()
    // The reader's view ends with the line. Otherwise each open bracket would be followed to the end of the body.
    const line = body.subarray(0, end)
    const reader = createJsonReader(line)
    const read = readSequence(line, reader, tally, limits, start)
    values += reader.values()
    if (typeof read !== 'number') return !isOver(tally, limits)
    undo()
    return tally.reject('invalid_json', `not JSON at byte ${~read - start} of the line`)
  })
  return {
    mediaType: 'application/x-ndjson',
    accepted: tally.accepted(),
    rejected: tally.rejected(),
    total: tally.total(),
    values,
    asReceived: false,
  }
}

/**
 * Whether a broken body with a plain JSON type is meant as lines: some line is an object by itself, and none looks like part of a larger value
 * (indented, or beginning or ending with a bracket or quote that is not its own).
 */
function hasWholeLines(body: Uint8Array): boolean {
  let whole = 0
  let parts = 0
  eachLine(body, (start, end) => {
    const indented = start > afterMark(body) && body[start - 1] !== newline
    if (indented || partStarts.has(body[start] ?? 0) || partEnds.has(body[end - 1] ?? 0)) parts++
    else if (createJsonReader(body.subarray(0, end)).value(start) === end) whole++
    return parts === 0
  })
  return whole > 0 && parts === 0
}
