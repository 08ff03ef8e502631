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

/** For bodies that were checked when they came: what was accepted once stays readable when limits change. */
export const noLimits: SplitLimits = {
  decodedBytesMax: Infinity,
  jsonDepthMax: Infinity,
  recordsPerBatchMax: Infinity,
  nodesPerRequestMax: Infinity,
}

/** A body cut into its records: where the good ones stand, and what is wrong with the others. */
export type Split = Readonly<{
  mediaType: LogMediaType
  accepted: readonly JsonRange[]
  rejected: readonly RejectedRecord[]
  /** Records, good and bad: all of them, or one more than a request may have. */
  total: number
  /** Values of all kinds in the body. */
  values: number
  /** The body as it is holds the accepted records and nothing that a strict reader would stumble over. */
  asReceived: boolean
  /** What the records stand in, where they do not stand alone. */
  wrapper?: Wrapper | undefined
  /** What the one record is if those in its list are records themselves. For the scan alone: what was kept as a record stays one. */
  conditional?: Wrapper | undefined
  /** The list by which the body is a request of another protocol (OTLP, Loki), and no logs of this form. */
  foreignList?: string | undefined
}>

export interface Tally {
  /** Both: false when there are more than a request may have, and nothing is to be read any more. */
  accept(start: number, end: number): boolean
  reject(code: RejectedRecord['code'], message: string): boolean
  total(): number
  accepted(): readonly JsonRange[]
  rejected(): readonly RejectedRecord[]
  /** A place to come back to with `undo`, when what followed proves to be broken. */
  mark(): () => void
}

/** Collects records up to the limit. Millions of small ones would keep whoever reads them for half a minute, to be refused. */
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
