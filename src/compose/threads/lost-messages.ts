import { beforeAll } from '#src/events/envelope.ts'
import { sealLoss } from '#src/events/erasure.ts'
import type { Clock } from '#src/lib/clock.ts'
import { TransientError } from '#src/lib/failure.ts'
import type { Timers } from '#src/lib/timers.ts'
import { MissingError } from '#streams/jetstream/stored.ts'
import type { Stream } from '#streams/stream.ts'

// A log of which messages are missing is not folded beyond them: what they said may have been acknowledged. If somebody says so, it goes on without
// them, and keeps all that came behind. What says so to whoever reads it is an erasure, of a workspace that there is not: all that is missing before
// one is explained.

type Options = Readonly<{
  /** Somebody says so; `tell` says what goes. */
  allowLostLog: boolean
  clock: Clock
  /** 32 hex characters that no other event has. */
  newId: () => string
  tell: (line: string) => void
}>

/**
 * Returns what is told why a log could not be folded on. A message must have been missing twice: who leads the servers since a moment ago may not
 * know of all that was acknowledged.
 */
export function createPassOver({ allowLostLog, clock, newId, tell }: Options) {
  const missing = new Map<string, string>()
  return async (stream: Pick<Stream, 'partition' | 'append'>, failure: unknown): Promise<void> => {
    if (!allowLostLog || !(failure instanceof MissingError)) return
    const { partition } = stream
    const isSure = missing.get(partition) === failure.message
    missing.set(partition, failure.message)
    if (!isSure) return
    missing.delete(partition)
    await stream.append([sealLoss({ at: clock(), unique: newId() })])
    tell(
      `partition ${partition} goes on without what is missing in its log so far, as ALLOW_LOST_LOG says: ${failure.message.split(' (', 1)[0]}; ` +
        'take ALLOW_LOST_LOG away, or this happens again unasked',
    )
  }
}

/** After so long it is looked again for what was missing: by then a fold that has met it too has begun again, and passes over it. */
const lookAgainMs = 3_000
const eventsAtOnce = 1_024

type LookOptions = Readonly<{
  passOver: ReturnType<typeof createPassOver>
  timers: Pick<Timers, 'pause'>
  signal: AbortSignal
}>

/**
 * Passes over what is missing behind the place that a projector has come to, where it does not look: who folds the log anew, and the retention, meet it.
 * Reads all of the log, and ends there; also where it is damaged otherwise. Never rejects.
 */
export async function passOverBehind(
  stream: Pick<Stream, 'partition' | 'append' | 'read'>,
  { passOver, timers, signal }: LookOptions,
): Promise<void> {
  for (let position = beforeAll; !signal.aborted;) {
    try {
      const last = (await stream.read(position, eventsAtOnce)).at(-1)
      if (last === undefined) return
      position = last.position
    } catch (error) {
      if (!(error instanceof MissingError) && !(error instanceof TransientError)) return
      await passOver(stream, error).catch(() => undefined)
      await timers.pause(lookAgainMs, signal)
    }
  }
}
