import type { JsonRange } from '#src/lib/json-bytes.ts'
import type { Limits } from '#src/config.ts'
import type { LogMediaType } from './media-type.ts'
import type { Wrapper } from './wrapper.ts'

/** Why one record of a batch was left out, in words and as a stable code. `index` counts all records of the request. */
export type RejectedRecord = Readonly<{
  index: number
  code: 'not_an_object' | 'too_deep' | 'invalid_json'
  message: string
}>

export type SplitLimits = Pick<Limits, 'decodedBytesMax' | 'jsonDepthMax' | 'recordsPerBatchMax' | 'nodesPerRequestMax'>

/** For bodies that were checked at ingest: they stay readable if limits change. */
export const noLimits: SplitLimits = {
  decodedBytesMax: Infinity,
  jsonDepthMax: Infinity,
  recordsPerBatchMax: Infinity,
  nodesPerRequestMax: Infinity,
}

/** A body split into records: the ranges of the good ones, and what is wrong with the others. */
export type Split = Readonly<{
  mediaType: LogMediaType
  accepted: readonly JsonRange[]
  rejected: readonly RejectedRecord[]
  /** Number of good and bad records: of all, or one more than a request may have. */
  total: number
  /** Values of all kinds in the body. */
  values: number
  /** Whether the body as received holds only accepted records, and nothing that a strict reader would refuse. */
  asReceived: boolean
  /** The wrapper that the records were in, if any. */
  wrapper?: Wrapper | undefined
  /**
   * The wrapper, if the single record is one because the values in its list prove to be records. Only the scan uses it: what was stored as a record
   * stays one.
   */
  conditional?: Wrapper | undefined
  /** The list that shows the body to be a request of another protocol (OTLP, Loki), not logs. */
  foreignList?: string | undefined
}>

export interface Tally {
  /** `accept` and `reject` return false if there are more records than a request may have; then stop reading. */
  accept(start: number, end: number): boolean
  reject(code: RejectedRecord['code'], message: string): boolean
  total(): number
  accepted(): readonly JsonRange[]
  rejected(): readonly RejectedRecord[]
  /** Returns a function that undoes everything counted since, for use if what follows is broken. */
  mark(): () => void
}

/** Collects records up to the limit: reading millions of small ones would take half a minute, only to refuse them. */
export function createTally(recordsMax: number): Tally {
  let total = 0
  const accepted: JsonRange[] = []
  const rejected: RejectedRecord[] = []
  return {
    accept(start, end) {
      if (total++ < recordsMax) accepted.push({ start, end })
      return total <= recordsMax
    },
    reject(code, message) {
      const index = total++
      if (index < recordsMax) rejected.push({ index, code, message })
      return total <= recordsMax
    },
    total: () => total,
    accepted: () => accepted,
    rejected: () => rejected,
    mark() {
      const before = [total, accepted.length, rejected.length] as const
      return () => {
        ;[total, accepted.length, rejected.length] = before
      }
    },
  }
}
