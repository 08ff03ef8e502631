import { positionStep } from '#src/events/envelope.ts'
import { present } from '#src/lib/assert.ts'
import { TransientError } from '#src/lib/failure.ts'
import { freeBytes } from '#src/lib/free-bytes.ts'
import { createKeyedMutex } from '#src/lib/keyed-mutex.ts'
import { createSemaphore } from '#src/lib/semaphore.ts'
import { ConflictError, type Appended, type Expected } from '../stream.ts'
import { answerOf, distinctOf, findBeside, type Distinct } from './distinct.ts'
import type { Ids } from './ids.ts'
import { encodeMessage, messageBytes, positionIn, type PackedEvent } from './message.ts'
import type { Expectation, Outgoing, Published, Publisher } from './publish.ts'
import type { Subjects } from './subjects.ts'

/** Appends one call: each event in a message of its own, under its id, all in one step. */
export type AppendCall = (events: readonly PackedEvent[], expected: Expected | undefined) => Promise<Appended>

/** How often a call is sent again because its ids were taken meanwhile. */
const attemptsMax = 8
/** No message has this sequence, so an expectation of it never holds. */
const noSequence = Number.MAX_SAFE_INTEGER
/** Batches under way at once; the server takes 50 from all processes. */
const batchesAtOnce = 4
/** Bytes under way at once. A small message counts as `roomMin`, which limits the number of messages to some hundreds. */
const roomMax = 32 * 1024 * 1024
const roomMin = 64 * 1024

function expectationOf({ subject, position }: Expected, subjects: Subjects): Expectation {
  const sequence = position % positionStep === 0 ? position / positionStep : noSequence
  return { subject: subjects.ofSubject(subject), sequence }
}

type Parts = Readonly<{ subjects: Subjects; publisher: Publisher; ids: Ids; log: string; replicated: boolean }>

export function createAppendCall({ subjects, publisher, ids, log, replicated }: Parts): AppendCall {
  const room = createSemaphore(roomMax)
  const batches = createSemaphore(batchesAtOnce)
  const turns = createKeyedMutex()

  /** Looks up the ids in the log; for those that are not there, finds the key to store them under. */
  async function seek(distinct: readonly Distinct[]): Promise<void> {
    const seekOne = async (each: Distinct): Promise<void> => {
      const { found, freeKey } = await ids.seek(each.packed.event.id, each.packed.event.receivedAt)
      each.found = found
      each.key = freeKey
    }
    await Promise.all(distinct.map(seekOne))
  }

  async function judge(each: Distinct, holder: number): Promise<void> {
    const judged = await ids.judge(each.packed.event.id, each.packed.event.receivedAt, holder)
    if (typeof judged === 'string') each.key = judged
    else each.found = judged
  }

  function publish(messages: readonly Outgoing[]): Promise<Published> {
    const steps = messages.reduce((sum, message) => sum + publisher.messagesOf(message), 0)
    return steps === 1 ? publisher.publish(messages) : batches.run(1, () => publisher.publish(messages))
  }

  /** Sends the new events of a call. True: every event now has its position. */
  async function send(fresh: readonly Distinct[], expectation: Expectation | undefined): Promise<boolean | 'conflict'> {
    const written = fresh.map((each, index) => {
      const [subject, data] = [subjects.ofEvent(each.packed.event), encodeMessage([each.packed])]
      const first = index === 0 && expectation !== undefined
      return [each, { subject, data, id: each.key, ...(first ? { expected: expectation } : {}) }] as const
    })
    const published = await publish(written.map(([, message]) => message))
    if (published.kind === 'stored')
      for (const [index, sequence] of published.sequences.entries())
        present(fresh[index], 'it was sent').position = positionIn(sequence, 0, 1)
    else if (published.kind === 'known') await Promise.all(fresh.map((each) => judge(each, published.sequence)))
    else await seek(fresh)
    // There is an answer, so all of it has been sent.
    for (const [, { data }] of written) freeBytes(data)
    return published.kind === 'conflict' ? 'conflict' : published.kind === 'stored'
  }

  async function append(events: readonly PackedEvent[], expected: Expected | undefined): Promise<Appended> {
    const distinct = distinctOf(events, ids, log)
    const expectation = expected === undefined ? undefined : expectationOf(expected, subjects)
    for (let attempt = 0; attempt < attemptsMax; attempt++) {
      findBeside(distinct)
      const fresh = [...distinct.values()].filter(({ found }) => found === undefined)
      const sent = fresh.length === 0 || (await send(fresh, expectation))
      if (sent === true) return answerOf(events, distinct)
      findBeside(distinct)
      // The server may check the expectation before the id; a retry is still a retry.
      const retry = [...distinct.values()].every(({ found }) => found !== undefined)
      if (sent === 'conflict' && expected !== undefined && !retry) {
        throw new ConflictError(expected.subject, expected.position)
      }
    }
    throw new TransientError({ operation: 'append to', subject: log, hint: 'other processes keep taking its ids' })
  }

  const inRoom: AppendCall = (events, expected) =>
    room.run(Math.max(messageBytes(events), roomMin), () => append(events, expected))

  // With replicas, the server accepts one message at a time that expects something of a subject, and refuses the others. So calls of this
  // process wait for each other here, and before there is room for them, in order not to occupy it meanwhile.
  return (events, expected) =>
    expected !== undefined && replicated
      ? turns.run(expected.subject, () => inRoom(events, expected))
      : inRoom(events, expected)
}
