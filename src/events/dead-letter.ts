import { z } from 'zod'
import { PermanentError } from '#src/lib/failure.ts'
import { openPayload, sealEvent } from './codec.ts'
import { noCounts, type DeadLetterEventType, type NewEvent, type Position, type RecordedEvent } from './envelope.ts'
import { upcast } from './upcast.ts'
import type { WorkspaceId } from './workspace-id.ts'

const place = z.number().int().nonnegative()
const states = ['open', 'retried', 'dropped'] as const
/** `put`: the event that says why it was left out; null in that event itself. */
const standing = z.object({ position: place, state: z.enum(states), put: place.nullable() })

/**
 * Every decision says what was decided of one event (`position`) for the folds of one version of a projection, and how all of their
 * dead letters stand after it (`letters`), so that the newest one is all that a reader has to read. Schema version 1.
 */
const decision = z.object({
  projection: z.string().min(1).max(64),
  version: z.number().int().positive(),
  /** Positions are of this epoch of the log. */
  epoch: z.string().min(1),
  position: place,
  /** Why no fold of this version can take it; only where it is put. */
  reason: z.string().optional(),
  letters: z.array(standing).readonly(),
})

export type DeadLetterDecision = Readonly<z.output<typeof decision>>
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

/**
 * The event as the log takes it, one and the same whoever writes it after the same decision. `workspaceId`: of the event that it
 * is about. `before`: where the last decision stands. `at` in ms.
 */
export function sealDeadLetterEvent(
  type: DeadLetterEventType,
  given: DeadLetterDecision,
  { workspaceId, at, before }: Readonly<{ workspaceId: WorkspaceId; at: number; before: Position }>,
): NewEvent {
  const { projection, version, epoch, position, reason } = given
  const checked = decision.parse({
    ...given,
    ...(reason === undefined ? {} : { reason: reason.slice(0, reasonCharactersMax) }),
  })
  return sealEvent(
    {
      id: `${workspaceId}.${type}.${projection}-v${version}-${epoch}-${position}-${before}`,
      type,
      schemaVersion: 1,
      workspaceId,
      keyId: null,
      receivedAt: at,
      retentionClass: 'deadletter',
      identified: true,
      subject: deadLettersSubject({ name: projection, version }),
      counts: noCounts,
      contentType: 'application/json',
    },
    Buffer.from(JSON.stringify(checked)),
  )
}

export const isDeadLetterDecision = ({ type }: RecordedEvent): boolean => type.startsWith('deadletter.')

/** What a decision says. A type or version that this program does not know is a PermanentError. */
export function decodeDeadLetterEvent(recorded: RecordedEvent): DeadLetterDecision {
  const event = upcast(recorded)
  try {
    return decision.parse(JSON.parse(Buffer.from(openPayload(event)).toString('utf8')))
  } catch (cause) {
    const subject = `${event.type} at ${event.position}`
    throw new PermanentError({ operation: 'read dead letter', subject, hint: 'the log is damaged', cause })
  }
}

/** The dead letters after the newest decision, in the log of this epoch: positions of a log that it was moved from mean nothing here. */
export function deadLettersAfter(newest: RecordedEvent | undefined, epoch: string): readonly DeadLetter[] {
  if (newest === undefined) return []
  const said = decodeDeadLetterEvent(newest)
  return said.epoch === epoch ? said.letters.map((letter) => ({ ...letter, put: letter.put ?? newest.position })) : []
}
