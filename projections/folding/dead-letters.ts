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
import { upcast } from '#src/events/upcast.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import { ConflictError, type Stream } from '#streams/stream.ts'
import type { PoisonError } from './fold-batch.ts'
import { eventAt } from './log-tail.ts'

/** If one version cannot fold so many events, the program is at fault, not the events. Those that are retried have another chance. */
const lettersMax = 1_000
/** With those that were retried: each decision holds them all. */
const lettersEverMax = 4_000
/** How often a decision is tried again when others were faster. They are few. */
const attemptsMax = 100

/** A fold that only compares has met an event that cannot be folded and on which nobody has decided. */
export class UndecidedError extends PermanentError {
  readonly event: RecordedEvent
  constructor({ name }: FoldVersion, { event, reason }: PoisonError) {
    const hint = `nobody has decided to leave it out, and the index is beyond it: throughline rebuild ${name} decides, and folds it anew`
    super({ operation: 'fold', subject: `${name} at ${event.position}`, hint, cause: reason })
    this.event = event
  }
}

/**
 * The events that folds skip. The decisions are in the log that the events come from, so every owner of an index, and every other fold of the
 * log, skips the same ones.
 */
export type DeadLetters = Readonly<{
  letters(fold: FoldVersion): Promise<readonly DeadLetter[]>
  /**
   * Decides to skip this event, unless that is decided already. Rejects with PermanentError beyond 1,000 of them that are not retried, or 4,000 in
   * all, and with UndecidedError if nothing may be decided here.
   */
  put(fold: FoldVersion, poison: PoisonError): Promise<void>
  /**
   * The dead letter that this event, a decision to retry, brings back: as if it had been received at the position of the decision. Undefined
   * for any other event, and for decisions of other versions.
   */
  brought(fold: FoldVersion, event: RecordedEvent): Promise<RecordedEvent | undefined>
  /**
   * Decides what becomes of a dead letter. Returns its state before; undefined if there is none at this position, or if it cannot be
   * retried because the log does not hold its event any more.
   */
  settle(fold: FoldVersion, position: Position, as: 'retried' | 'dropped'): Promise<DeadLetter['state'] | undefined>
  /** The event at a position, or the one that a decision there has brought back; undefined if the log does not hold it. */
  event(position: Position): Promise<RecordedEvent | undefined>
  /** Why an event is skipped. */
  reason(letter: DeadLetter): Promise<string>
  /** Forgets the letters whose events the log no longer holds, after the erasure of their workspace. */
  forgetGone(fold: FoldVersion, erasure: RecordedEvent): Promise<void>
}>

/** `reason`: why an event is put aside. `gone`: positions to be forgotten. */
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

/** The letters after a change; `put`: the position of the explanation. */
function standingAfter(letters: readonly DeadLetter[], change: Change, put: Position): readonly DeadLetter[] {
  const { type, position, gone } = change
  if (type === 'deadletter.erased') return letters.filter((letter) => gone?.has(letter.position) !== true)
  const before = letters.find((letter) => letter.position === position)
  const others = letters.filter((letter) => letter !== before)
  const now = { position, state: stateAfter[type], put: before?.put ?? put }
  return [...others, now].sort((a, b) => a.position - b.position)
}

/** The positions that folds skip. A retried letter stays skipped: the retry brings its event again. */
export const leftOut = (letters: readonly DeadLetter[]): ReadonlySet<Position> =>
  new Set(letters.map(({ position }) => position))

/** How many there are where there may be no more. */
function tooManyIn(letters: readonly DeadLetter[]): string | undefined {
  const unfolded = letters.filter(({ state }) => state !== 'retried').length
  if (unfolded >= lettersMax) return String(unfolded)
  return letters.length >= lettersEverMax ? `with those that were retried ${letters.length}` : undefined
}

/** Writes a decision, unless `decide` sees that there is none to make. Tries again if somebody else was faster. */
function createDecide(stream: Stream, clock: Clock) {
  const { epoch } = stream
  /** Written before the decision, so that whoever reads the decision finds the reason. */
  const explain = async (event: NewEvent): Promise<Position> => (await stream.append([event])).last
  return async (
    fold: FoldVersion,
    workspaceId: WorkspaceId,
    decide: (letters: readonly DeadLetter[]) => Change | undefined,
  ): Promise<readonly DeadLetter[]> => {
    const subject = deadLettersSubject(fold)
    for (let attempt = 0; attempt < attemptsMax; attempt++) {
      const newest = await stream.last(subject)
      const letters = deadLettersAfter(newest, epoch)
      const change = decide(letters)
      if (change === undefined) return letters
      const { type, position, reason } = change
      const before = newest?.position ?? beforeAll
      const said = { projection: fold.name, version: fold.version, epoch, position }
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
    throw new Error(`the dead letters of ${fold.name} change all the time`)
  }
}

/** `decides`: whether to decide on events on which nobody has decided; false for a fold that only compares. */
export function createDeadLetters({
  stream,
  clock,
  decides = true,
}: Readonly<{ stream: Stream; clock: Clock; decides?: boolean }>): DeadLetters {
  const decide = createDecide(stream, clock)
  const at = async (position: Position): Promise<RecordedEvent | undefined> => {
    const event = await eventAt(stream, position)
    return event && upcast(event)
  }
  const letters = async (fold: FoldVersion): Promise<readonly DeadLetter[]> =>
    deadLettersAfter(await stream.last(deadLettersSubject(fold)), stream.epoch)
  const origin = async (position: Position): Promise<RecordedEvent | undefined> => {
    let event = await at(position)
    // A retry that failed is itself a dead letter.
    while (event !== undefined && isDeadLetterDecision(event)) event = await at(decodeDeadLetterEvent(event).position)
    return event
  }
  return {
    letters,
    event: origin,
    put: async (fold, poison) => {
      const { event, reason } = poison
      const { position, workspaceId } = event
      await decide(fold, workspaceId, (now) => {
        if (now.some((letter) => letter.position === position)) return undefined
        if (!decides) throw new UndecidedError(fold, poison)
        const tooMany = tooManyIn(now)
        if (tooMany !== undefined) {
          const hint = `${tooMany} events before it could not be folded either: see throughline dead-letters list, and mend the program`
          throw new PermanentError({ operation: 'fold', subject: `${fold.name} at ${position}`, hint, cause: reason })
        }
        return { type: 'deadletter.put', position, reason: reason.message }
      })
    },
    brought: async (fold, event) => {
      if (event.type !== 'deadletter.retried') return undefined
      const { projection, version, epoch, position } = decodeDeadLetterEvent(event)
      if (projection !== fold.name || version !== fold.version || epoch !== stream.epoch) return undefined
      const found = await origin(position)
      return found && { ...found, position: event.position }
    },
    settle: async (fold, position, as) => {
      const event = await origin(position)
      if (event === undefined && as === 'retried') return undefined
      let before: DeadLetter['state'] | undefined
      await decide(fold, event?.workspaceId ?? directoryWorkspaceId, (now) => {
        // Asked again where somebody else was faster: it is then as they have left it.
        before = now.find((letter) => letter.position === position)?.state
        // A retried event is folded at the position of its retry: it can be neither dropped nor retried again.
        if (before === undefined || before === as || before === 'retried') return undefined
        return { type: `deadletter.${as}`, position }
      })
      return before
    },
    reason: async ({ put }) => {
      const event = await at(put)
      return event === undefined ? '' : reasonIn(event)
    },
    forgetGone: async (fold, erasure) => {
      const found = await Promise.all(
        (await letters(fold)).map(async ({ position }) => ((await origin(position)) === undefined ? [position] : [])),
      )
      const gone = new Set(found.flat())
      // This decision belongs to no workspace, so that no erasure removes it.
      await decide(fold, directoryWorkspaceId, (now) =>
        now.some(({ position }) => gone.has(position))
          ? { type: 'deadletter.erased', position: erasure.position, gone }
          : undefined,
      )
    },
  }
}
