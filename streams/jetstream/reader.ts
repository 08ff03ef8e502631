import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, positionStep, type Position, type RecordedEvent } from '#src/events/envelope.ts'
import { TransientError } from '#src/lib/failure.ts'
import { cutBefore, lostTail, readBytesMax, type Stream } from '../stream.ts'
import type { Nats } from './nats.ts'
import { sequenceAfter } from './message.ts'
import type { MessageSource } from './message-source.ts'
import type { Ends } from './stream-state.ts'
import { missingAt, MissingError, type Run } from './stored.ts'
import type { LogName } from './subjects.ts'

const messagesPerReadMax = 1_024
/** How long a replica may take to catch up. */
export const catchUpTimeoutMs = 10_000
export const catchUpPauseMs = 50

export const headOf = (sequence: number): Position => (sequence === 0 ? beforeAll : sequence * positionStep)

export const behindFailure = (log: LogName): TransientError =>
  new TransientError({
    operation: 'read',
    subject: `stream ${log.stream}`,
    hint: 'the copy of it that answers is behind',
  })

/** The number of events that one read returns. */
function countWithin(events: readonly RecordedEvent[], max: number): number {
  let bytes = 0
  const end = events.findIndex(({ payload }, index) => {
    bytes += payload.length
    return index >= max || (index > 0 && bytes > readBytesMax)
  })
  return end === -1 ? events.length : end
}

/** Events left over from a read: messages are read whole, and may hold more events than were asked for. */
type Left = Readonly<{ after: Position; events: readonly RecordedEvent[] }>
/** A projector alternates between two places: where it is, and where it looks ahead. */
const leftMax = 2

/** `read` of the port. `ends` returns the current ends of the log. */
export function createRead(
  nats: Nats,
  log: LogName,
  source: MessageSource,
  { head, ends }: Readonly<{ head: () => Promise<Position>; ends: () => Promise<Ends> }>,
): Stream['read'] {
  /**
   * Why no whole event was found at a sequence. True: the reader has caught up. False: the replica that answered is behind. Throws
   * PermanentError at a hole, and if the log ends before `after`. `wanted`: the sequence of the next part, where some of an event were found.
   */
  async function hasCaughtUp(
    after: Position,
    { next: sequence, wanted }: Pick<Run, 'next' | 'wanted'>,
    patient: boolean,
  ): Promise<boolean> {
    const end = await head()
    // A newly elected leader may not have applied all of its messages yet.
    if (end < after && nats.server().cluster && patient) return false
    if (end < after) throw lostTail(log.partition, after, end)
    if (end < sequence * positionStep) return true
    const sought = wanted ?? sequence
    if (end >= sought * positionStep && !(await source.has(sought))) throw missingAt(sought, log)
    return false
  }

  /**
   * Where to continue if another message was found at a sequence: at the log's first message, if the log was cut up to there and the reader
   * starts from the beginning. Undefined if the log should have that sequence.
   */
  async function beginAfterCut(after: Position, sequence: number): Promise<number | undefined> {
    const { first, cut } = await ends()
    if (first <= sequence || cut < sequence) return undefined
    if (after === beforeAll) return first
    throw cutBefore(log.partition, after, headOf(first))
  }

  async function runFrom(after: Position, first: number, max: number): Promise<Run> {
    const run = await source.run(first, Math.max(1, Math.min(max, messagesPerReadMax)))
    // The messages missing there were erased, but may have been cut off before.
    if (run.begins > first && after !== beforeAll) await beginAfterCut(after, first)
    return run
  }

  let left: readonly Left[] = []
  const give = (after: Position, events: readonly RecordedEvent[], max: number): readonly RecordedEvent[] => {
    const given = events.slice(0, countWithin(events, max))
    const others = left.filter((one) => one.after !== after)
    const rest = { after: given.at(-1)?.position ?? beforeAll, events: events.slice(given.length) }
    left = (rest.events.length === 0 ? others : [...others, rest]).slice(-leftMax)
    return given
  }

  const read: Stream['read'] = async (after, max) => {
    const known = left.find((one) => one.after === after)
    if (known !== undefined) return give(after, known.events, max)
    let first = sequenceAfter(after)
    const started = performance.now()
    for (;;) {
      const run = await runFrom(after, first, max)
      const { events, damage, next } = run
      const fresh = events.filter(({ position }) => position > after)
      if (fresh.length > 0) return give(after, fresh, max)
      const begun = damage !== undefined && next === first ? await beginAfterCut(after, first) : undefined
      if (begun !== undefined) {
        first = begun
        continue
      }
      if (damage !== undefined) throw damage
      const patient = performance.now() - started < catchUpTimeoutMs
      if (await hasCaughtUp(after, run, patient)) return []
      if (!patient) throw behindFailure(log)
      await sleep(catchUpPauseMs)
    }
  }
  return async (after, max) => {
    try {
      return await read(after, max)
    } catch (error) {
      if (error instanceof MissingError && error.sequence !== undefined) await source.doubtLoss(error.sequence)
      throw error
    }
  }
}
