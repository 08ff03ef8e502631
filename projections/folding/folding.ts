import type { Clock } from '#src/lib/clock.ts'
import type { Timers } from '#src/lib/timers.ts'
import type { RecordedEvent } from '#src/events/envelope.ts'
import type { Stream } from '#streams/stream.ts'
import type { DecodedEvent, Projection } from '../projection.ts'
import type { BatchLimits } from './batches.ts'
import type { CacheLimits } from './documents.ts'

type FoldLimits = CacheLimits & BatchLimits & Readonly<{ projectorBatchEventsMax: number }>

/** What every fold of a log needs: a projector's, a rebuild worker's, or the one that verify compares with. */
export type Folding = Readonly<{
  stream: Stream
  projections: readonly Projection[]
  decode: (event: RecordedEvent) => DecodedEvent
  clock: Clock
  timers: Timers
  limits: FoldLimits
}>

/** How often readers are told how far an index is, ms. */
export const heartbeatMs = 1_000
