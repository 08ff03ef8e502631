import type { RecordedEvent } from '#src/events/envelope.ts'
import type { Nats } from './nats.ts'
import { doubtLoss } from './doubt-loss.ts'
import { createFetch, type Fetch } from './fetch.ts'
import { createOfLeader } from './of-leader.ts'
import type { Part } from './publish.ts'
import { assemble, damageAt, eventsOf, missing, type Run, type Stored } from './stored.ts'
import type { LogName, Subjects } from './subjects.ts'

/** Reads the messages of a log from the server. */
export type MessageSource = Readonly<{
  /** At most `max` messages from a sequence on, from any replica; with at least one whole event, if possible, which may begin before it. */
  run(first: number, max: number): Promise<Run>
  /** Whether the leader has a message there, or one was erased. */
  has(sequence: number): Promise<boolean>
  /** Throws TransientError if a message that the leader did not find may be there all the same. */
  doubtLoss(sequence: number): Promise<void>
  /** The events of the message that ends at a sequence; none if it was purged. Asks the leader. Throws TransientError as `doubtLoss` does. */
  message(sequence: number): Promise<readonly RecordedEvent[]>
  /** Which part of an event that message is; undefined if there is none. Asks the leader. */
  part(sequence: number): Promise<Part | undefined>
  /** The events of the newest message of a subject (as escaped for the server). Asks the leader. */
  lastOf(subject: string): Promise<readonly RecordedEvent[]>
}>

/**
 * How many messages before this one hold parts of the same event. An event of several messages has the position of the last one, so a read from just
 * before that position begins in the middle of the event.
 */
const partsBefore = (message: Stored | undefined, sequence: number): number =>
  message?.sequence === sequence ? message.part.index - 1 : 0

export function createMessageSource(
  nats: Nats,
  log: LogName,
  subjects: Subjects,
  warn: (line: string) => void = () => {},
): MessageSource {
  const ofLeader = createOfLeader(nats, log)
  const fetch = createFetch(nats, log, ofLeader, warn)

  async function whole(last: Stored): Promise<readonly RecordedEvent[]> {
    if (!subjects.holds(last.subject))
      throw damageAt(last.sequence, log, 'it is of another log: this one was made anew')
    const parts: Stored[] = [last]
    for (let sequence = last.sequence - 1; parts.length < last.part.count; sequence--) {
      const part = await ofLeader.message({ seq: sequence })
      if (part === undefined) throw damageAt(sequence, log, missing(log))
      parts.unshift(part)
    }
    return eventsOf(parts, last.sequence, log)
  }

  /** What is missing up to here was purged with its workspace, or is given up. It only grows, and is looked up when something is missing. */
  let erased = 0
  async function isErased(sequence: number): Promise<boolean> {
    if (sequence <= erased) return true
    const newest = await ofLeader.message({ last_by_subj: subjects.ofErasures })
    erased = Math.max(erased, (newest?.sequence ?? 0) - 1)
    return sequence <= erased
  }

  async function assembled(messages: readonly Stored[], first: number): Promise<Run> {
    for (;;) {
      const run = assemble(messages, { first, erased, log, subjects })
      if (run.hole === undefined || !(await isErased(run.hole))) return run
    }
  }

  async function runOf(from: Fetch, given: number, max: number): Promise<Run> {
    let more = await from(given, max)
    const first = given - partsBefore(more[0], given)
    if (first < given) more = await from(first, max)
    const messages: Stored[] = []
    for (;;) {
      messages.push(...more)
      const run = await assembled(messages, first)
      const last = messages.at(-1)?.sequence
      // An event may be larger than what one answer holds.
      if (last === undefined || more.length === 0 || run.wanted === undefined || run.events.length > 0) return run
      more = await from(last + 1, max)
    }
  }

  return {
    run: async (given, max) => {
      const run = await runOf(fetch, given, max)
      // A copy may be damaged, or a mirror that changes subjects: it is damage where the leader has the same.
      return run.damage === undefined || run.events.length > 0 ? run : runOf(ofLeader.run, given, max)
    },
    has: async (sequence) => (await ofLeader.message({ seq: sequence })) !== undefined || (await isErased(sequence)),
    doubtLoss: (sequence) => doubtLoss(nats, log, ofLeader, sequence),
    message: async (sequence) => {
      const last = await ofLeader.message({ seq: sequence })
      if (last !== undefined) return whole(last)
      if (!(await isErased(sequence))) await doubtLoss(nats, log, ofLeader, sequence)
      return []
    },
    part: async (sequence) => (await ofLeader.message({ seq: sequence }))?.part,
    lastOf: async (subject) => {
      const last = await ofLeader.message({ last_by_subj: subject })
      return last === undefined ? [] : whole(last)
    },
  }
}
