import type { JsonRange } from '#src/lib/json-bytes.ts'
import { fail, ok, type Result } from '#src/lib/result.ts'
import { createMsgpackReader, type MsgpackReader } from './msgpack.ts'
import { createTally, type Split, type SplitLimits, type Tally } from './split.ts'

type BrokenMsgpack = Readonly<{ offset: number }>

/**
 * Splits a MessagePack body into records: a map, an array of maps (@logtail), or a sequence or array of `[time, map]` and `[[time, metadata], map]`
 * (Fluent Bit, Fluentd). A record's range is that of its map or its pair.
 */
export function splitMsgpack(body: Uint8Array, limits: SplitLimits): Result<Split, BrokenMsgpack> {
  const reader = createMsgpackReader(body)
  const tally = createTally(limits.recordsPerBatchMax)
  for (let at = 0; at < body.length;) {
    const end = isList(reader, at) ? eachItem(reader, at, tally, limits) : record(reader, at, tally, limits)
    if (end < 0) return fail({ offset: ~end })
    if (tally.total() > limits.recordsPerBatchMax) break
    at = end
  }
  return ok(splitOf(tally, reader))
}

const splitOf = (tally: Tally, reader: MsgpackReader): Split => ({
  mediaType: 'application/msgpack',
  accepted: tally.accepted(),
  rejected: tally.rejected(),
  total: tally.total(),
  values: reader.values(),
  asReceived: tally.rejected().length === 0,
})

/** The records of a wrapper's list. */
export function splitMsgpackList(body: Uint8Array, list: JsonRange, limits: SplitLimits): Split {
  const reader = createMsgpackReader(body)
  const tally = createTally(limits.recordsPerBatchMax)
  eachItem(reader, list.start, tally, limits)
  return splitOf(tally, reader)
}

/** Where the time and the map of the pair at `at` begin; undefined if it is not such a pair. */
export function pairAt(reader: MsgpackReader, at: number): Readonly<{ time: number; map: number }> | undefined {
  const { kind, size, next: time } = reader.head(at)
  if (kind !== 'array' || size !== 2 || !isTime(reader, time)) return undefined
  const map = reader.value(time)
  return map >= 0 && reader.head(map).kind === 'map' ? { time, map } : undefined
}

/** A time, or an array of a time and a map of metadata. */
function isTime(reader: MsgpackReader, at: number): boolean {
  const { kind, size, next } = reader.head(at)
  if (kind === 'ext' || kind === 'integer' || kind === 'float') return true
  if (kind !== 'array' || size !== 2) return false
  const inner = reader.head(next).kind
  if (inner !== 'ext' && inner !== 'integer' && inner !== 'float') return false
  const second = reader.value(next)
  return second >= 0 && reader.head(second).kind === 'map'
}

function isList(reader: MsgpackReader, at: number): boolean {
  return reader.head(at).kind === 'array' && pairAt(reader, at) === undefined
}

function eachItem(reader: MsgpackReader, at: number, tally: Tally, limits: SplitLimits): number {
  const { next, size } = reader.head(at)
  let index = next
  for (let item = 0; item < size; item++) {
    index = record(reader, index, tally, limits)
    if (index < 0 || tally.total() > limits.recordsPerBatchMax) return index
  }
  return index
}

function record(reader: MsgpackReader, at: number, tally: Tally, limits: SplitLimits): number {
  const end = reader.value(at)
  if (end < 0) return end
  const depth = reader.depth()
  if (reader.head(at).kind !== 'map' && pairAt(reader, at) === undefined) {
    tally.reject('not_an_object', 'a record must be a map, or a pair of time and map')
  } else if (depth > limits.jsonDepthMax) tally.reject('too_deep', `nested deeper than ${limits.jsonDepthMax} levels`)
  else tally.accept(at, end)
  return end
}
