import { setImmediate as nextTurn } from 'node:timers/promises'
import { beforeAll } from '#src/events/envelope.ts'
import type { Appended } from '../stream.ts'
import { encodeMessage, eventsPerMessageMax, messageBytes, positionIn, type PackedEvent } from './message.ts'
import { messagesPerBatchMax, type Outgoing, type Publisher } from './publish.ts'
import type { Subjects } from './subjects.ts'

/** Appends calls whose events nobody sends twice and that expect nothing: they share messages, and messages share a sync. */
export type AppendShared = (events: readonly PackedEvent[]) => Promise<Appended>

type Waiting = Readonly<{
  events: readonly PackedEvent[]
  resolve: (appended: Appended) => void
  reject: (error: unknown) => void
}>
/** A message in the making: calls of one workspace and type. */
type Shared = { readonly subject: string; readonly calls: Waiting[]; events: number; bytes: number }

export type SharedLimits = Readonly<{ appendBatchEventsMax: number; appendBatchBytesMax: number }>

/**
 * A sync for each of so many messages costs less than a step of them all: that has a fixed price of some milliseconds (the
 * server stages it in files of its own), one message that of a sync.
 */
const aloneMax = 8

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

export function createAppendShared(subjects: Subjects, publisher: Publisher, limits: SharedLimits): AppendShared {
  const waiting: Waiting[] = []
  let running = false

  /** Calls for one step, put together by their subject. */
  function take(): readonly Shared[] {
    const messages: Shared[] = []
    const open = new Map<string, Shared>()
    let [events, bytes, calls] = [0, 0, 0]
    for (const call of waiting) {
      const callBytes = messageBytes(call.events)
      events += call.events.length
      bytes += callBytes
      const full = events > limits.appendBatchEventsMax || bytes > limits.appendBatchBytesMax
      if (calls > 0 && (full || messages.length === messagesPerBatchMax)) break
      calls++
      const [first] = call.events
      const subject = first === undefined ? '' : subjects.ofEvent(first.event)
      let message = open.get(subject)
      const fits =
        message !== undefined &&
        message.events + call.events.length <= eventsPerMessageMax &&
        message.bytes + callBytes <= publisher.messageBytesMax()
      if (message === undefined || !fits) {
        message = { subject, calls: [], events: 0, bytes: 0 }
        open.set(subject, message)
        messages.push(message)
      }
      message.calls.push(call)
      message.events += call.events.length
      message.bytes += callBytes
    }
    waiting.splice(0, calls)
    return messages
  }

  const outgoing = ({ subject, calls }: Shared): Outgoing => ({
    subject,
    data: encodeMessage(calls.flatMap(({ events }) => events)),
  })

  async function publish(messages: readonly Shared[]): Promise<void> {
    try {
      const published = await publisher.publish(messages.map(outgoing))
      if (published.kind !== 'stored') throw new TypeError(`the answer to messages without ids is ${published.kind}`)
      const first = published.sequence - messages.length + 1
      for (const [index, message] of messages.entries()) settle(message, first + index)
    } catch (error) {
      for (const { calls } of messages) for (const { reject } of calls) reject(error)
    }
  }

  async function run(): Promise<void> {
    running = true
    while (waiting.length > 0) {
      // All requests that this turn of the event loop brings come together.
      await nextTurn()
      const messages = take()
      if (messages.length > aloneMax) await publish(messages)
      else await Promise.all(messages.map((message) => publish([message])))
    }
    running = false
  }

  return (events) =>
    new Promise((resolve, reject) => {
      waiting.push({ events, resolve, reject })
      if (!running) void run()
    })
}
