import type { RecordedEvent } from '#src/events/envelope.ts'
import { PermanentError } from '#src/lib/failure.ts'
import type { Received } from './nats.ts'
import { decodeMessage } from './message.ts'
import { readPart, type Part } from './publish.ts'
import { directoryPartition, type LogName, type Subjects } from './subjects.ts'

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

/**
 * An erasure and the retention say what they remove; whatever else is missing was taken by another hand. Or it never was there: a server whose disk
 * is full may store some of the messages of a step, and count the others, which nobody was told that they are stored.
 */
export function byAnotherHand({ partition }: LogName): string {
  const found =
    'somebody has purged the stream, its files are damaged, or its disk was full when a large request came: put it back from a backup of NATS'
  // Projectors pass over it, who do not fold the directory.
  if (partition === directoryPartition) return found
  return `${found}; or, to go on without what is missing, start project with ALLOW_LOST_LOG=1`
}

export const missing = (log: LogName, next?: number): string =>
  `it is missing${next === undefined ? '' : `: the next one is ${next}`}; ${byAnotherHand(log)}`

const about = (sequence: number, { stream }: LogName) => ({
  operation: `read message ${sequence} of`,
  subject: `stream ${stream}`,
})

export const damageAt = (sequence: number, log: LogName, hint: string): PermanentError =>
  new PermanentError({ ...about(sequence, log), hint })

/**
 * Messages, or parts of an event, are not there. An erasure behind them explains it (`erased`): what is there is read then. `sequence`: the first
 * message that was not found; undefined if none lacks, but parts of an event.
 */
export class MissingError extends PermanentError {
  readonly sequence: number | undefined
  constructor(context: ConstructorParameters<typeof PermanentError>[0], sequence?: number) {
    super(context)
    this.sequence = sequence
  }
}

export const missingAt = (sequence: number, log: LogName, hint = missing(log)): MissingError =>
  new MissingError({ ...about(sequence, log), hint }, sequence)

/** The events of a message, from its parts; `sequence` is that of the last part. */
export function eventsOf(parts: readonly Stored[], sequence: number, log: LogName): readonly RecordedEvent[] {
  const [first] = parts
  const data = parts.length === 1 && first !== undefined ? first.data : Buffer.concat(parts.map((part) => part.data))
  return decodeMessage(data, sequence, log.stream)
}

/**
 * The whole events of a run of messages. `next`: the first sequence after them, which is damaged, missing or incomplete. `wanted`: the one that
 * must come for the last event to be whole, where it is incomplete. `begins`: the sequence of the first message. `hole`: the last one that is
 * missing, or a part of an event that lacks others, if nothing else is wrong.
 */
export type Run = Readonly<{
  events: readonly RecordedEvent[]
  damage: unknown
  next: number
  wanted: number | undefined
  begins: number
  hole: number | undefined
}>

/** `first`: where the run starts. Up to `erased`, messages may be missing: they were purged with their workspace. */
type RunOf = Readonly<{ first: number; erased: number; log: LogName; subjects: Subjects }>

/** Why this message cannot be the one at a sequence, after `parts` parts of an event; undefined if it can. */
function flaw(
  message: Stored,
  { sequence, parts }: Readonly<{ sequence: number; parts: number }>,
  { log, subjects }: Pick<RunOf, 'log' | 'subjects'>,
): Readonly<{ damage: PermanentError; hole?: number }> | undefined {
  if (message.sequence !== sequence) {
    return { damage: missingAt(sequence, log, missing(log, message.sequence)), hole: message.sequence - 1 }
  }
  if (!subjects.holds(message.subject))
    return { damage: damageAt(sequence, log, 'it is of another log: this one was made anew') }
  if (message.part.index === parts + 1) return undefined
  // Of two events, the one before lacks its last parts; else this one its first.
  const damage = new MissingError({
    ...about(sequence, log),
    hint: `parts of its event are missing; ${byAnotherHand(log)}`,
  })
  return { damage, hole: sequence - 1 }
}

/** Whether a message is the next part of the event that these are the first parts of. */
const goesOn = (parts: readonly Stored[], message: Stored): boolean =>
  message.sequence === (parts.at(-1)?.sequence ?? 0) + 1 && message.part.index === parts.length + 1

/** Assembles messages, which should be consecutive from `first` on except for erased ones. */
export function assemble(messages: readonly Stored[], { first, erased, log, subjects }: RunOf): Run {
  const events: RecordedEvent[] = []
  const begins = messages[0]?.sequence ?? first
  let parts: Stored[] = []
  let next = first
  const end = (damage?: unknown, hole?: number): Run => {
    const wanted = damage === undefined && parts.length > 0 ? next + parts.length : undefined
    return { events, damage, next, wanted, begins, hole }
  }
  for (const message of messages) {
    if (message.sequence - 1 <= erased && !goesOn(parts, message)) {
      // What lies before it is gone, and what is left of an event there with it.
      parts = []
      next = Math.max(next, message.sequence)
      if (message.sequence <= erased && message.part.index > 1) {
        next = message.sequence + 1
        continue
      }
    }
    const sequence = next + parts.length
    const wrong = flaw(message, { sequence, parts: parts.length }, { log, subjects })
    if (wrong !== undefined) return end(wrong.damage, wrong.hole)
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
  return end()
}
