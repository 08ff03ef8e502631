import { setImmediate as nextTurn } from 'node:timers/promises'
import { checkHeader, formatHeader } from '#src/events/codec.ts'
import type { NewEvent } from '#src/events/envelope.ts'
import { isErasure } from '#src/events/erasure.ts'
import { PermanentError, TransientError } from '#src/lib/failure.ts'
import { appendedOf, ConflictError, type Appended, type Expected } from '../stream.ts'
import type { Group, Outcome, PackedCall } from './write-group.ts'

/** Limits on what may wait and on what shares a commit. A call larger than a batch is a batch of its own. */
export type AppendLimits = Readonly<{
  appendBatchEventsMax: number
  appendBatchBytesMax: number
  appendQueueEventsMax: number
  appendQueueBytesMax: number
}>

type AppendQueue = Readonly<{
  append(events: readonly NewEvent[], expected?: Expected): Promise<Appended>
  /** Takes nothing more, and resolves when everything taken is settled. */
  close(): Promise<void>
}>

type Waiting = Readonly<{
  call: PackedCall
  payloads: readonly Uint8Array[]
  bytes: number
  resolve(appended: Appended): void
  reject(error: Error): void
}>

/** Throws PermanentError when an event's header could not be read again. */
function pack(events: readonly NewEvent[], expected: Expected | undefined): PackedCall {
  return {
    expected: expected ?? null,
    events: events.map((event) => {
      checkHeader(event)
      const { id, workspaceId, receivedAt, subject = null, crc, payload } = event
      const isErasing = isErasure(event)
      return {
        id,
        workspaceId,
        isErasing,
        receivedAt,
        subject,
        crc,
        header: formatHeader(event),
        bytes: payload.length,
      }
    }),
  }
}

/** A copy, because a caller's buffer may be a slice of a larger one, which must not be transferred to a thread. */
function groupOf(batch: readonly Waiting[]): Group {
  const payloads = Buffer.allocUnsafeSlow(batch.reduce((sum, { bytes }) => sum + bytes, 0))
  let offset = 0
  for (const payload of batch.flatMap(({ payloads }) => payloads)) {
    payloads.set(payload, offset)
    offset += payload.length
  }
  return { calls: batch.map(({ call }) => call), payloads }
}

function settle({ call, resolve, reject }: Waiting, outcome: Outcome | undefined, subject: string): void {
  if (outcome?.kind === 'appended') return resolve(outcome.appended)
  if (outcome?.kind === 'conflict' && call.expected !== null) {
    return reject(new ConflictError(call.expected.subject, call.expected.position))
  }
  const reason = outcome?.kind === 'refused' ? outcome.reason : 'the writer gave no answer'
  reject(new PermanentError({ operation: 'append to', subject, hint: reason }))
}

/** Collects the calls of all callers and commits everything that waits at once: one fsync acknowledges them all. */
export function createAppendQueue(
  subject: string,
  limits: AppendLimits,
  commit: (group: Group) => Promise<readonly Outcome[]>,
): AppendQueue {
  const waiting: Waiting[] = []
  let [queuedEvents, queuedBytes] = [0, 0]
  let running: Promise<void> | undefined
  let closed = false

  function takeBatch(): readonly Waiting[] {
    let [events, bytes, calls] = [0, 0, 0]
    for (const next of waiting) {
      events += next.call.events.length
      bytes += next.bytes
      if (calls > 0 && (events > limits.appendBatchEventsMax || bytes > limits.appendBatchBytesMax)) break
      calls++
    }
    return waiting.splice(0, calls)
  }

  async function commitBatch(batch: readonly Waiting[]): Promise<void> {
    try {
      const outcomes = await commit(groupOf(batch))
      for (const [index, call] of batch.entries()) settle(call, outcomes[index], subject)
    } catch (error) {
      for (const { reject } of batch) reject(error instanceof Error ? error : new Error(String(error)))
    }
    for (const { call, bytes } of batch) {
      queuedEvents -= call.events.length
      queuedBytes -= bytes
    }
  }

  async function run(): Promise<void> {
    while (waiting.length > 0) {
      // All requests that arrive in this turn of the event loop share the commit.
      await nextTurn()
      await commitBatch(takeBatch())
    }
    running = undefined
  }

  const refuse = (hint: string): TransientError => new TransientError({ operation: 'append to', subject, hint })

  return {
    append: async (events, expected) => {
      if (closed) throw refuse('it is closed')
      if (events.length === 0) return appendedOf([])
      const call = pack(events, expected)
      const bytes = events.reduce((sum, { payload }) => sum + payload.length, 0)
      const full =
        queuedEvents + events.length > limits.appendQueueEventsMax || queuedBytes + bytes > limits.appendQueueBytesMax
      if (full && queuedEvents > 0) throw refuse('too much is waiting for the disk')
      queuedEvents += events.length
      queuedBytes += bytes
      return new Promise<Appended>((resolve, reject) => {
        waiting.push({ call, payloads: events.map(({ payload }) => payload), bytes, resolve, reject })
        running ??= run()
      })
    },
    close: async () => {
      closed = true
      await running
    },
  }
}
