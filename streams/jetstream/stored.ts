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

/** An erasure and the retention say what they remove; whatever else is missing was taken by another hand. */
export const missing = (next?: number): string =>
  `it is missing${next === undefined ? '' : `: the next one is ${next}`}; somebody has purged the stream, or its files are damaged: put it back from a backup of NATS; or, to go on without all that it held, delete it and start with ALLOW_LOST_LOG=1`

export const damageAt = (sequence: number, log: LogName, hint: string): PermanentError =>
  new PermanentError({ operation: `read message ${sequence} of`, subject: `stream ${log.stream}`, hint })

/** The events of a message that came in these parts, the last of which has the sequence. */
export function eventsOf(parts: readonly Stored[], sequence: number, log: LogName): readonly RecordedEvent[] {
  const [first] = parts
  const data = parts.length === 1 && first !== undefined ? first.data : Buffer.concat(parts.map((part) => part.data))
  return decodeMessage(data, sequence, log.stream)
}

/**
 * What a run of messages holds: whole events up to `next`, the sequence of what is damaged, missing or not all here. `begins`: where
 * the first of the messages stands. `hole`: the last sequence of what is missing, where nothing else is wrong.
 */
export type Run = Readonly<{
  events: readonly RecordedEvent[]
  damage: unknown
  next: number
  incomplete: boolean
  begins: number
  hole: number | undefined
}>

/** Of a log from a sequence on. Up to `erased` messages may be missing: they were purged with their workspace. */
export type RunOf = Readonly<{ first: number; erased: number; log: LogName; subjects: Subjects }>

/** Why this message cannot be the one of a sequence, after so many parts of an event. */
function flaw(message: Stored, sequence: number, parts: number, subjects: Subjects): string | undefined {
  if (message.sequence !== sequence) return missing(message.sequence)
  if (!subjects.holds(message.subject)) return 'it is of another log: this one was made anew'
  return message.part.index === parts + 1 ? undefined : 'parts of its event are missing'
}

/** Puts messages together that should stand in a row from `first`, but for what was erased. */
export function assemble(messages: readonly Stored[], { first, erased, log, subjects }: RunOf): Run {
  const events: RecordedEvent[] = []
  const begins = messages[0]?.sequence ?? first
  let parts: Stored[] = []
  let next = first
  const end = (damage: unknown, hole?: number): Run => ({
    events,
    damage,
    next,
    incomplete: damage === undefined && parts.length > 0,
    begins,
    hole,
  })
  for (const message of messages) {
    if (parts.length === 0 && message.sequence - 1 <= erased) next = Math.max(next, message.sequence)
    const sequence = next + parts.length
    const wrong = flaw(message, sequence, parts.length, subjects)
    const isHole = parts.length === 0 && message.sequence > sequence
    if (wrong !== undefined) return end(damageAt(sequence, log, wrong), isHole ? message.sequence - 1 : undefined)
    parts.push(message)
    if (parts.length < message.part.count) continue
    try {
      events.push(...eventsOf(parts, sequence, log))
    } catch (damage) {
      return end(damage)
    }
    parts = []
    next = sequence + 1
  }
  return end(undefined)
}
