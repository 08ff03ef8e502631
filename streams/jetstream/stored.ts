import type { RecordedEvent } from '#src/events/envelope.ts'
import { PermanentError } from '#src/lib/failure.ts'
import type { Received } from './connect.ts'
import { decodeMessage } from './message.ts'
import { readPart, type Part } from './publish.ts'
import type { LogName, Subjects } from './subjects.ts'

/** In messages that were copied from another log: that log's epoch and the position of the last event there, with a slash. */
export const copiedHeader = 'Throughline-Copied'

/** A message as the server has stored it. */
export type Stored = Readonly<{ sequence: number; subject: string; part: Part; copied: string; data: Uint8Array }>

/** One that was asked for directly, from any copy of the log. */
export const storedOf = (received: Received): Stored => ({
  sequence: Number(received.header('Nats-Sequence')),
  subject: received.header('Nats-Subject'),
  part: readPart(received.header),
  copied: received.header(copiedHeader),
  data: received.data,
})

/** The one of the leader, whose headers come as one text. */
export function storedByLeader(answer: Record<string, unknown>): Stored {
  const { message } = answer as { message: { subject: string; seq: number; hdrs?: string; data?: string } }
  const lines = Buffer.from(message.hdrs ?? '', 'base64')
    .toString()
    .split('\r\n')
  const header = (name: string): string =>
    lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2) ?? ''
  return {
    sequence: message.seq,
    subject: message.subject,
    part: readPart(header),
    copied: header(copiedHeader),
    data: Buffer.from(message.data ?? '', 'base64'),
  }
}

export const damageAt = (sequence: number, log: LogName, hint: string): PermanentError =>
  new PermanentError({ operation: `read message ${sequence} of`, subject: `stream ${log.stream}`, hint })

/** The events of a message that came in these parts, the last of which has the sequence. */
export function eventsOf(parts: readonly Stored[], sequence: number, log: LogName): readonly RecordedEvent[] {
  const [first] = parts
  const data = parts.length === 1 && first !== undefined ? first.data : Buffer.concat(parts.map((part) => part.data))
  return decodeMessage(data, sequence, log.stream)
}

/** What a run of messages holds: whole events up to `next`, the sequence of what is damaged, missing or not all here. */
export type Run = Readonly<{ events: readonly RecordedEvent[]; damage: unknown; next: number; incomplete: boolean }>

/** Why this message cannot be the one of a sequence, after so many parts of an event. */
function flaw(message: Stored, sequence: number, parts: number, subjects: Subjects): string | undefined {
  if (message.sequence !== sequence) return `it is missing: the next one is ${message.sequence}`
  if (!subjects.holds(message.subject)) return 'it is of another log: this one was made anew'
  return message.part.index === parts + 1 ? undefined : 'parts of its event are missing'
}

/** Puts messages together that should stand in a row from `first`. */
export function assemble(messages: readonly Stored[], first: number, log: LogName, subjects: Subjects): Run {
  const events: RecordedEvent[] = []
  let parts: Stored[] = []
  let next = first
  for (const [index, message] of messages.entries()) {
    const sequence = first + index
    const wrong = flaw(message, sequence, parts.length, subjects)
    if (wrong !== undefined) return { events, damage: damageAt(sequence, log, wrong), next, incomplete: false }
    parts.push(message)
    if (parts.length < message.part.count) continue
    try {
      events.push(...eventsOf(parts, sequence, log))
    } catch (damage) {
      return { events, damage, next, incomplete: false }
    }
    parts = []
    next = sequence + 1
  }
  return { events, damage: undefined, next, incomplete: parts.length > 0 }
}
