import type { Clock } from '#src/lib/clock.ts'
import { PermanentError } from '#src/lib/failure.ts'
import {
  deadLettersAfter,
  deadLettersSubject,
  decodeDeadLetterEvent,
  isDeadLetterDecision,
  sealDeadLetterEvent,
  type DeadLetter,
  type FoldVersion,
} from '#src/events/dead-letter.ts'
import { beforeAll, type DeadLetterEventType, type Position, type RecordedEvent } from '#src/events/envelope.ts'
import { readCurrent } from '#streams/follow.ts'
import { ConflictError, type Stream } from '#streams/stream.ts'
import type { PoisonError } from './fold-batch.ts'

/** So many events that one version cannot take are not the events' fault but the program's. */
const lettersMax = 1_000
/** How often a decision is made again when others are faster; they are few. */
const attemptsMax = 100

/**
 * The events that folds leave out, by decisions in the log that they come from: so every owner of an index, and every other
 * fold of the log, leaves out the same ones.
 */
export type DeadLetters = Readonly<{
  letters(of: FoldVersion): Promise<readonly DeadLetter[]>
  /**
   * Decides that this event is left out, unless it is decided already. All positions that are left out then. Rejects with
   * PermanentError beyond 1,000 of them, and where nothing may be decided with why the event cannot be folded.
   */
  put(of: FoldVersion, poison: PoisonError): Promise<ReadonlySet<Position>>
  /**
   * What a decision to try again brings: the event, as if it came where the decision stands. Undefined for any other event, and for
   * decisions of other versions.
   */
  brought(of: FoldVersion, event: RecordedEvent): Promise<RecordedEvent | undefined>
  /** Decides what becomes of a dead letter. What it was before; undefined when there is none at this position. */
  settle(of: FoldVersion, position: Position, as: 'retried' | 'dropped'): Promise<DeadLetter['state'] | undefined>
  /** The event at a position, or the one that a decision there has brought; undefined when the log does not hold it. */
  event(position: Position): Promise<RecordedEvent | undefined>
  /** Why an event was left out. */
  reason(letter: DeadLetter): Promise<string>
}>

type Change = Readonly<{ type: DeadLetterEventType; position: Position; reason?: string }>

const stateAfter = {
  'deadletter.put': 'open',
  'deadletter.retried': 'retried',
  'deadletter.dropped': 'dropped',
} as const

/** Positions that folds leave out; a retry changes nothing of that, it brings the event again. */
export const leftOut = (letters: readonly DeadLetter[]): ReadonlySet<Position> =>
  new Set(letters.map(({ position }) => position))

/** Writes a decision, unless `decide` sees that there is none to make; decided again when somebody else was faster. */
function createDecide(stream: Stream, clock: Clock) {
  const { epoch } = stream
  return async (
    of: FoldVersion,
    event: RecordedEvent,
    decide: (letters: readonly DeadLetter[]) => Change | undefined,
  ): Promise<readonly DeadLetter[]> => {
    const subject = deadLettersSubject(of)
    for (let attempt = 0; attempt < attemptsMax; attempt++) {
      const newest = await stream.last(subject)
      const letters = deadLettersAfter(newest, epoch)
      const change = decide(letters)
      if (change === undefined) return letters
      const { type, position, ...reason } = change
      const put = letters.find((letter) => letter.position === position)?.put ?? null
      const others = letters.filter((letter) => letter.position !== position)
      const standing = [...others, { position, state: stateAfter[type], put }].sort((a, b) => a.position - b.position)
      const said = { projection: of.name, version: of.version, epoch, position, ...reason, letters: standing }
      const before = newest?.position ?? beforeAll
      const { workspaceId } = event
      const sealed = sealDeadLetterEvent(type, said, { workspaceId, at: clock(), before })
      try {
        const { last } = await stream.append([sealed], { subject, position: before })
        return standing.map((letter) => ({ ...letter, put: letter.put ?? last }))
      } catch (error) {
        if (!(error instanceof ConflictError)) throw error
      }
    }
    throw new Error(`the dead letters of ${of.name} change all the time`)
  }
}

/** `decides`: whether events may be left out on which nobody has decided; false for who only compares. */
export function createDeadLetters({
  stream,
  clock,
  decides = true,
}: Readonly<{ stream: Stream; clock: Clock; decides?: boolean }>): DeadLetters {
  const decide = createDecide(stream, clock)
  const at = async (position: Position): Promise<RecordedEvent | undefined> => {
    const [event] = await readCurrent(stream, position - 1, 1)
    return event?.position === position ? event : undefined
  }
  const letters = async (of: FoldVersion): Promise<readonly DeadLetter[]> =>
    deadLettersAfter(await stream.last(deadLettersSubject(of)), stream.epoch)
  const origin = async (position: Position): Promise<RecordedEvent | undefined> => {
    let event = await at(position)
    // A retry that failed is a dead letter itself.
    while (event !== undefined && isDeadLetterDecision(event)) event = await at(decodeDeadLetterEvent(event).position)
    return event
  }
  return {
    letters,
    event: origin,
    put: async (of, { event, reason }) => {
      const { position } = event
      const known = await decide(of, event, (now) => {
        if (now.some((letter) => letter.position === position)) return undefined
        if (!decides) throw reason
        if (now.length >= lettersMax) {
          const hint = `${lettersMax} events before it could not be folded either: see throughline dead-letters list, and mend the program`
          throw new PermanentError({ operation: 'fold', subject: `${of.name} at ${position}`, hint, cause: reason })
        }
        return { type: 'deadletter.put', position, reason: reason.message }
      })
      return leftOut(known)
    },
    brought: async (of, event) => {
      if (event.type !== 'deadletter.retried') return undefined
      const { projection, version, epoch, position } = decodeDeadLetterEvent(event)
      if (projection !== of.name || version !== of.version || epoch !== stream.epoch) return undefined
      const found = await origin(position)
      return found && { ...found, position: event.position }
    },
    settle: async (of, position, as) => {
      const event = await at(position)
      if (event === undefined) return undefined
      let before: DeadLetter['state'] | undefined
      await decide(of, event, (now) => {
        const state = now.find((letter) => letter.position === position)?.state
        before ??= state
        // What is tried again is folded where it is: it cannot be dropped, nor be tried twice.
        if (state === undefined || state === as || state === 'retried') return undefined
        return { type: `deadletter.${as}`, position }
      })
      return before
    },
    reason: async ({ put }) => {
      const event = await at(put)
      return (event && decodeDeadLetterEvent(event).reason) ?? ''
    },
  }
}
