import { z } from 'zod'
import type { DeadLetterEventType, NewEvent, Position, RecordedEvent } from './envelope.ts'
import { decodeFact, sealFact } from './fact.ts'
import type { WorkspaceId } from './workspace-id.ts'

const place = z.number().int().nonnegative()
const states = ['open', 'retried', 'dropped'] as const
/** `put`: the event that says why it was left out; null in that event itself, as programs before `deadletter.explained` wrote it. */
const standing = z.object({ position: place, state: z.enum(states), put: place.nullable() })

/**
 * Every decision says what was decided of one event (`position`; `erased`: of all that are gone with the workspace of an erasure) for the folds of one version of a projection, and how all of their
 * dead letters stand after it (`letters`), so that the newest one is all that a reader has to read. Schema version 1.
 */
const decision = z.object({
  projection: z.string().min(1).max(64),
  version: z.number().int().positive(),
  /** Positions are of this epoch of the log. */
  epoch: z.string().min(1),
  position: place,
  /** Why no fold of this version can take it; only in an old put. */
  reason: z.string().optional(),
  letters: z.array(standing).readonly(),
})

/**
 * Why no fold of a version can take an event. It may quote what its sender sent, so it is an event of its own, without a subject: it is
 * erased with its workspace, and the decisions, which stand in one row for all workspaces, go on without it. Schema version 1.
 */
const explanation = decision.pick({ projection: true, version: true, epoch: true, position: true }).extend({
  reason: z.string(),
})
type DeadLetterExplanation = Readonly<z.output<typeof explanation>>

type DeadLetterDecision = Readonly<z.output<typeof decision>>
/**
 * An event that the folds of a version leave out at its place. `open`: somebody should look at it; `retried`: it is folded where the
 * decision to try again stands; `dropped`: it stays out. `put`: where it is said why.
 */
export type DeadLetter = Readonly<{ position: Position; state: (typeof states)[number]; put: Position }>
/** The folds that a decision is for. */
export type FoldVersion = Readonly<{ name: string; version: number }>

/** A reason is for people: a sender's text in it must not make the log large. */
const reasonCharactersMax = 500

/** Subject of all decisions for the folds of one version. */
export const deadLettersSubject = ({ name, version }: FoldVersion): string => `deadletters.${name}.v${version}`

type DecisionPlace = Readonly<{ workspaceId: WorkspaceId; at: number; before: Position }>
type Said = Readonly<{ projection: string; version: number; epoch: string; position: Position }>

function seal(
  type: DeadLetterEventType,
  said: Said,
  { workspaceId, at, before, subject }: DecisionPlace & Readonly<{ subject?: string }>,
): NewEvent {
  const { projection, version, epoch, position } = said
  const id = `${workspaceId}.${type}.${projection}-v${version}-${epoch}-${position}-${before}`
  return sealFact({ id, type, workspaceId, at, retentionClass: 'deadletter', subject }, said)
}

/**
 * The event as the log takes it, one and the same whoever writes it after the same decision. `workspaceId`: of the event that it
 * is about. `before`: where the last decision stands. `at` in ms.
 */
export function sealDeadLetterEvent(
  type: Exclude<DeadLetterEventType, 'deadletter.explained'>,
  given: DeadLetterDecision,
  place: DecisionPlace,
): NewEvent {
  const { projection: name, version } = given
  return seal(type, decision.parse(given), { ...place, subject: deadLettersSubject({ name, version }) })
}

/** The event that says why; like its decision one and the same whoever writes it. */
export function sealExplanation(given: DeadLetterExplanation, place: DecisionPlace): NewEvent {
  const reason = given.reason.slice(0, reasonCharactersMax)
  return seal('deadletter.explained', explanation.parse({ ...given, reason }), place)
}

const operation = 'read dead letter'
/** What a decision says. */
export const decodeDeadLetterEvent = (recorded: RecordedEvent): DeadLetterDecision =>
  decodeFact(recorded, decision, operation)

/** Why, by the event that a dead letter names for it; '' where that says nothing. */
export function reasonIn(recorded: RecordedEvent): string {
  const isExplanation = recorded.type === 'deadletter.explained'
  return (isExplanation ? decodeFact(recorded, explanation, operation) : decodeDeadLetterEvent(recorded)).reason ?? ''
}

export const isDeadLetterDecision = ({ type }: RecordedEvent): boolean =>
  type.startsWith('deadletter.') && type !== 'deadletter.explained'

/** The dead letters after the newest decision, in the log of this epoch: positions of a log that it was moved from mean nothing here. */
export function deadLettersAfter(newest: RecordedEvent | undefined, epoch: string): readonly DeadLetter[] {
  if (newest === undefined) return []
  const said = decodeDeadLetterEvent(newest)
  return said.epoch === epoch ? said.letters.map((letter) => ({ ...letter, put: letter.put ?? newest.position })) : []
}
