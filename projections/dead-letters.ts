import type { Clock } from '#src/lib/clock.ts'
import { PermanentError } from '#src/lib/failure.ts'
import {
  deadLettersAfter,
  deadLettersSubject,
  decodeDeadLetterEvent,
  isDeadLetterDecision,
  reasonIn,
  sealDeadLetterEvent,
  sealExplanation,
  type DeadLetter,
  type FoldVersion,
} from '#src/events/dead-letter.ts'
import { directoryWorkspaceId } from '#src/events/directory.ts'
import {
  beforeAll,
  type DeadLetterEventType,
  type NewEvent,
  type Position,
  type RecordedEvent,
} from '#src/events/envelope.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import { readCurrent } from '#streams/follow.ts'
import { ConflictError, type Stream } from '#streams/stream.ts'
import type { PoisonError } from './fold-batch.ts'

/** So many events that one version cannot take are not the events' fault but the program's. */
const lettersMax = 1_000
/** How often a decision is made again when others are faster; they are few. */
const attemptsMax = 100

/** Who only compares has come to an event that cannot be folded, and on which nobody has decided. */
export class UndecidedError extends PermanentError {
  readonly event: RecordedEvent
  constructor({ name }: FoldVersion, { event, reason }: PoisonError) {
    const hint = `nobody has decided to leave it out, and the index is beyond it: throughline rebuild ${name} decides, and folds it anew`
    super({ operation: 'fold', subject: `${name} at ${event.position}`, hint, cause: reason })
    this.event = event
  }
}

/**
 * The events that folds leave out, by decisions in the log that they come from: so every owner of an index, and every other
 * fold of the log, leaves out the same ones.
 */
export type DeadLetters = Readonly<{
  letters(of: FoldVersion): Promise<readonly DeadLetter[]>
  /**
   * Decides that this event is left out, unless it is decided already. All positions that are left out then. Rejects with
   * PermanentError beyond 1,000 of them, and with UndecidedError where nothing may be decided.
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
  /** Forgets the letters whose events the log does not hold any more, after the erasure of their workspace. */
  forgetGone(of: FoldVersion, erasure: RecordedEvent): Promise<void>
}>

/** `reason`: of what is put. `gone`: positions of which nothing is to be said any more. */
type Change = Readonly<{
  type: Exclude<DeadLetterEventType, 'deadletter.explained'>
  position: Position
  reason?: string
  gone?: ReadonlySet<Position>
}>

const stateAfter = {
  'deadletter.put': 'open',
  'deadletter.retried': 'retried',
  'deadletter.dropped': 'dropped',
} as const

/** How all stand after a change; `put`: where it is said why. */
function standingAfter(letters: readonly DeadLetter[], change: Change, put: Position): readonly DeadLetter[] {
  const { type, position, gone } = change
  if (type === 'deadletter.erased') return letters.filter((letter) => gone?.has(letter.position) !== true)
  const before = letters.find((letter) => letter.position === position)
  const others = letters.filter((letter) => letter !== before)
  const now = { position, state: stateAfter[type], put: before?.put ?? put }
  return [...others, now].sort((a, b) => a.position - b.position)
}

/** Positions that folds leave out; a retry changes nothing of that, it brings the event again. */
export const leftOut = (letters: readonly DeadLetter[]): ReadonlySet<Position> =>
  new Set(letters.map(({ position }) => position))

/** Writes a decision, unless `decide` sees that there is none to make; decided again when somebody else was faster. */
function createDecide(stream: Stream, clock: Clock) {
  const { epoch } = stream
  /** Before its decision: who reads that finds why. */
  const explain = async (event: NewEvent): Promise<Position> => (await stream.append([event])).last
  return async (
    of: FoldVersion,
    workspaceId: WorkspaceId,
    decide: (letters: readonly DeadLetter[]) => Change | undefined,
  ): Promise<readonly DeadLetter[]> => {
    const subject = deadLettersSubject(of)
    for (let attempt = 0; attempt < attemptsMax; attempt++) {
      const newest = await stream.last(subject)
      const letters = deadLettersAfter(newest, epoch)
      const change = decide(letters)
      if (change === undefined) return letters
      const { type, position, reason } = change
      const before = newest?.position ?? beforeAll
      const said = { projection: of.name, version: of.version, epoch, position }
      const place = { workspaceId, at: clock(), before }
      const put = reason === undefined ? beforeAll : await explain(sealExplanation({ ...said, reason }, place))
      const standing = standingAfter(letters, change, put)
      try {
        const sealed = sealDeadLetterEvent(type, { ...said, letters: standing }, place)
        await stream.append([sealed], { subject, position: before })
        return standing
      } catch (error) {
        if (!(error instanceof ConflictError)) throw error
      }
    }
    throw new Error(`the dead letters of ${of.name} change all the time`)
  }
}

async function eventAt(stream: Stream, position: Position): Promise<RecordedEvent | undefined> {
  const first = await stream.first()
  // What was cut is gone, with the decisions on it.
  if (first === undefined || position < first.position) return undefined
  const [event] = await readCurrent(stream, position - 1, 1)
  return event?.position === position ? event : undefined
}

/** `decides`: whether events may be left out on which nobody has decided; false for who only compares. */
export function createDeadLetters({
  stream,
  clock,
  decides = true,
}: Readonly<{ stream: Stream; clock: Clock; decides?: boolean }>): DeadLetters {
  const decide = createDecide(stream, clock)
  const at = (position: Position): Promise<RecordedEvent | undefined> => eventAt(stream, position)
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
    put: async (of, poison) => {
      const { event, reason } = poison
      const { position, workspaceId } = event
      const known = await decide(of, workspaceId, (now) => {
        if (now.some((letter) => letter.position === position)) return undefined
        if (!decides) throw new UndecidedError(of, poison)
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
      await decide(of, event.workspaceId, (now) => {
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
      return event === undefined ? '' : reasonIn(event)
    },
    forgetGone: async (of, erasure) => {
      const found = await Promise.all(
        (await letters(of)).map(async ({ position }) => ((await origin(position)) === undefined ? [position] : [])),
      )
      const gone = new Set(found.flat())
      // Of no workspace: it outlasts every one that it is about.
      await decide(of, directoryWorkspaceId, (now) =>
        now.some(({ position }) => gone.has(position))
          ? { type: 'deadletter.erased', position: erasure.position, gone }
          : undefined,
      )
    },
  }
}
