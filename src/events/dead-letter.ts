import { z } from 'zod'
import type { DeadLetterEventType, NewEvent, Position, RecordedEvent } from './envelope.ts'
import { decodeFact, sealFact } from './fact.ts'
import type { WorkspaceId } from './workspace-id.ts'

const place = z.number().int().nonnegative()
const states = ['open', 'retried', 'dropped'] as const
/** `put`: the event that says why it was left out. Null in that event itself if an old program wrote it, before `deadletter.explained`. */
const standing = z.object({ position: place, state: z.enum(states), put: place.nullable() })

/**
 * Every decision concerns one event (`position`; `erased`: all events of an erased workspace) for the folds of one version of a projection.
 * It also lists all dead letters of those folds after it (`letters`), so a reader needs only the newest decision. Schema version 1.
 */
const decision = z.object({
  projection: z.string().min(1).max(64),
  version: z.number().int().positive(),
  /** Positions belong to this epoch of the log. */
  epoch: z.string().min(1),
  position: place,
  /** Why no fold of this version can take it; only in old events. */
  reason: z.string().optional(),
  letters: z.array(standing).readonly(),
})

/**
 * Why no fold of a version can take an event. The reason may quote the sender's data, so it is an event of its own without a subject: it is
 * erased with its workspace, while the decisions, one chain for all workspaces, remain. Schema version 1.
 */
const explanation = decision.pick({ projection: true, version: true, epoch: true, position: true }).extend({
  reason: z.string(),
})
type DeadLetterExplanation = Readonly<z.output<typeof explanation>>

type DeadLetterDecision = Readonly<z.output<typeof decision>>
/**
 * An event that the folds of a version leave out. `open`: somebody should look at it. `retried`: it is folded at the place of the decision
 * to try again. `dropped`: it stays out. `put`: the event that says why.
 */
export type DeadLetter = Readonly<{ position: Position; state: (typeof states)[number]; put: Position }>
/** The folds a decision applies to. */
export type FoldVersion = Readonly<{ name: string; version: number }>

/** A reason is for people: a sender's text in it must not bloat the log. */
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
 * The event as the log takes it; identical whoever writes it after the same decision. `workspaceId`: of the event concerned. `before`:
 * position of the last decision. `at` in ms.
 */
export function sealDeadLetterEvent(
  type: Exclude<DeadLetterEventType, 'deadletter.explained'>,
  given: DeadLetterDecision,
  place: DecisionPlace,
): NewEvent {
  const { projection: name, version } = given
  return seal(type, decision.parse(given), { ...place, subject: deadLettersSubject({ name, version }) })
}

/** The event that says why; identical whoever writes it, like its decision. */
export function sealExplanation(given: DeadLetterExplanation, place: DecisionPlace): NewEvent {
  const reason = given.reason.slice(0, reasonCharactersMax)
  return seal('deadletter.explained', explanation.parse({ ...given, reason }), place)
}

const operation = 'read dead letter'
/** The content of a decision. */
export const decodeDeadLetterEvent = (recorded: RecordedEvent): DeadLetterDecision =>
  decodeFact(recorded, decision, operation)

/** The reason in the event a dead letter names for it; '' if that event gives none. */
export function reasonIn(recorded: RecordedEvent): string {
  const isExplanation = recorded.type === 'deadletter.explained'
  return (isExplanation ? decodeFact(recorded, explanation, operation) : decodeDeadLetterEvent(recorded)).reason ?? ''
}

export const isDeadLetterDecision = ({ type }: RecordedEvent): boolean =>
  type.startsWith('deadletter.') && type !== 'deadletter.explained'

/**
 * The dead letters after the newest decision, in the log of this epoch. If the log was moved, positions of the old log mean nothing here.
 */
export function deadLettersAfter(newest: RecordedEvent | undefined, epoch: string): readonly DeadLetter[] {
  if (newest === undefined) return []
  const said = decodeDeadLetterEvent(newest)
  return said.epoch === epoch ? said.letters.map((letter) => ({ ...letter, put: letter.put ?? newest.position })) : []
}
