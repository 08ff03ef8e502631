import { beforeAll } from '#src/events/envelope.ts'
import { present } from '#src/lib/assert.ts'
import { freeBytes } from '#src/lib/free-bytes.ts'
import type { Appended } from '../stream.ts'
import { encodeMessage, eventsPerMessageMax, messageBytes, positionIn, type PackedEvent } from './message.ts'
import { messagesPerBatchMax, type Outgoing, type Publisher } from './publish.ts'
import type { Subjects } from './subjects.ts'

/** Appends calls whose events no sender repeats and that expect nothing. They share messages, and messages share a sync. */
export type AppendShared = (events: readonly PackedEvent[]) => Promise<Appended>

type Waiting = Readonly<{
  events: readonly PackedEvent[]
  resolve: (appended: Appended) => void
  reject: (error: unknown) => void
}>
/** The calls that go into one message, all of one workspace and type. */
type Shared = Readonly<{ subject: string; calls: readonly Waiting[]; events: number; bytes: number }>

export type SharedLimits = Readonly<{ appendBatchEventsMax: number; appendBatchBytesMax: number }>

/**
 * Up to this many messages are sent one by one; the server syncs each. Messages of further workspaces go as one batch, which is synced once
 * but costs some milliseconds in any case (the server stages it in files of its own).
 */
const aloneMax = 32

function positionsOf(call: Waiting, sequence: number, before: number, count: number): Appended {
  const events = call.events.map((_, index) => ({ position: positionIn(sequence, before + index, count) }))
  return { last: events.at(-1)?.position ?? beforeAll, duplicates: 0, events }
}

function settle({ calls, events }: Shared, sequence: number): void {
  let before = 0
  for (const call of calls) {
    call.resolve(positionsOf(call, sequence, before, events))
    before += call.events.length
  }
}

/** As many calls as fit into one message, but at least one. */
function fitting(
  subject: string,
  waiting: readonly Waiting[],
  max: Readonly<{ events: number; bytes: number }>,
): Shared {
  const calls: Waiting[] = []
  let [events, bytes] = [0, 0]
  for (const call of waiting) {
    const callBytes = messageBytes(call.events)
    if (calls.length > 0 && (events + call.events.length > max.events || bytes + callBytes > max.bytes)) break
    calls.push(call)
    events += call.events.length
    bytes += callBytes
  }
  return { subject, calls, events, bytes }
}

/** As many messages as fit into one batch, but at least one. One that is larger than the server takes is sent as several. */
function fittingStep(messages: readonly Shared[], messageBytesMax: number, limits: SharedLimits): readonly Shared[] {
  let [events, bytes, sent] = [0, 0, 0]
  const tooMany = messages.findIndex((message, index) => {
    events += message.events
    bytes += message.bytes
    sent += Math.ceil(message.bytes / messageBytesMax)
    const isMore = events > limits.appendBatchEventsMax || bytes > limits.appendBatchBytesMax
    return index > 0 && (isMore || sent > messagesPerBatchMax)
  })
  return tooMany === -1 ? messages : messages.slice(0, tooMany)
}

export function createAppendShared(subjects: Subjects, publisher: Publisher, limits: SharedLimits): AppendShared {
  /** By subject. Each has at most one message under way; later calls share the next one. */
  const waiting = new Map<string, Waiting[]>()
  const busy = new Set<string>()
  let alone = 0
  let [stepping, gathering] = [false, false]
  const next = (subject: string): Shared =>
    fitting(subject, waiting.get(subject) ?? [], {
      events: Math.min(eventsPerMessageMax, limits.appendBatchEventsMax),
      bytes: publisher.messageBytesMax(),
    })

  const outgoing = ({ subject, calls }: Shared): Outgoing => ({
    subject,
    data: encodeMessage(calls.flatMap(({ events }) => events)),
  })

  async function publish(messages: readonly Shared[]): Promise<void> {
    for (const { subject, calls } of messages) {
      const rest = (waiting.get(subject) ?? []).slice(calls.length)
      if (rest.length > 0) waiting.set(subject, rest)
      else waiting.delete(subject)
      busy.add(subject)
    }
    try {
      const sent = messages.map(outgoing)
      const published = await publisher.publish(sent)
      // There is an answer, so all of it has been sent.
      for (const { data } of sent) freeBytes(data)
      if (published.kind !== 'stored') throw new TypeError(`the answer to messages without ids is ${published.kind}`)
      for (const [index, sequence] of published.sequences.entries())
        settle(present(messages[index], 'it was sent'), sequence)
    } catch (error) {
      for (const { calls } of messages) for (const { reject } of calls) reject(error)
    } finally {
      for (const { subject } of messages) busy.delete(subject)
      gather()
    }
  }

  async function publishAlone(subject: string): Promise<void> {
    alone++
    await publish([next(subject)])
    alone--
  }

  async function publishStep(ready: readonly string[]): Promise<void> {
    stepping = true
    await publish(fittingStep(ready.slice(0, messagesPerBatchMax).map(next), publisher.messageBytesMax(), limits))
    stepping = false
  }

  function send(): void {
    gathering = false
    const ready = [...waiting.keys()].filter((subject) => !busy.has(subject))
    const own = ready.splice(0, aloneMax - alone)
    for (const subject of own) void publishAlone(subject)
    if (ready.length > 0 && !stepping) void publishStep(ready)
  }

  /** All requests of one turn of the event loop go together. */
  function gather(): void {
    if (gathering || waiting.size === 0) return
    gathering = true
    setImmediate(send)
  }

  return (events) =>
    new Promise((resolve, reject) => {
      const [first] = events
      const subject = first === undefined ? '' : subjects.ofEvent(first.event)
      const calls = waiting.get(subject)
      if (calls === undefined) waiting.set(subject, [{ events, resolve, reject }])
      else calls.push({ events, resolve, reject })
      gather()
    })
}
