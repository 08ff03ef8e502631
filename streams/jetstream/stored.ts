import type { RecordedEvent } from '#src/events/envelope.ts'
import { PermanentError } from '#src/lib/failure.ts'
import type { Received } from './nats.ts'
import { decodeMessage } from './message.ts'
import { readPart, type Part } from './publish.ts'
import type { LogName, Subjects } from './subjects.ts'

/** Header of messages copied from another log: `<epoch of that log>/<position of the last event there>`. */
export const copiedHeader = 'Throughline-Copied'

/** A message as the server has stored it. */
export type Stored = Readonly<{ sequence: number; subject: string; part: Part; copied: string; data: Uint8Array }>

/** From a direct get, answered by any replica. */
export const storedOf = (received: Received): Stored => ({
  sequence: Number(received.header('Nats-Sequence')),
  subject: received.header('Nats-Subject'),
  part: readPart(received.header),
  copied: received.header(copiedHeader),
  data: received.data,
})

/** From the leader, which sends all headers as one text. */
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
export const byAnotherHand =
  'somebody has purged the stream, or its files are damaged: put it back from a backup of NATS; or, to go on without all that it held, delete it and start with ALLOW_LOST_LOG=1'

export const missing = (next?: number): string =>
  `it is missing${next === undefined ? '' : `: the next one is ${next}`}; ${byAnotherHand}`

export const damageAt = (sequence: number, log: LogName, hint: string): PermanentError =>
  new PermanentError({ operation: `read message ${sequence} of`, subject: `stream ${log.stream}`, hint })

/** The events of a message, from its parts; `sequence` is that of the last part. */
export function eventsOf(parts: readonly Stored[], sequence: number, log: LogName): readonly RecordedEvent[] {
  const [first] = parts
  const data = parts.length === 1 && first !== undefined ? first.data : Buffer.concat(parts.map((part) => part.data))
  return decodeMessage(data, sequence, log.stream)
}

/**
 * The whole events of a run of messages. `next`: the first sequence after them, which is damaged, missing or incomplete. `begins`: the sequence
 * of the first message. `hole`: the last missing sequence, if nothing else is wrong.
 */
export type Run = Readonly<{
  events: readonly RecordedEvent[]
  damage: unknown
  next: number
  incomplete: boolean
  begins: number
  hole: number | undefined
}>

/** `first`: where the run starts. Up to `erased`, messages may be missing: they were purged with their workspace. */
type RunOf = Readonly<{ first: number; erased: number; log: LogName; subjects: Subjects }>

/** Why this message cannot be the one at a sequence, after `parts` parts of an event; undefined if it can. */
function flaw(message: Stored, sequence: number, parts: number, subjects: Subjects): string | undefined {
  if (message.sequence !== sequence) return missing(message.sequence)
  if (!subjects.holds(message.subject)) return 'it is of another log: this one was made anew'
  return message.part.index === parts + 1 ? undefined : 'parts of its event are missing'
}

/** Assembles messages, which should be consecutive from `first` on except for erased ones. */
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
