import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { PermanentError, TransientError } from '#src/lib/failure.ts'
import { failureOf, noLeaderHint, parseAnswer, serverCodes, type ServerError } from './api.ts'
import type { Headers, Nats } from './nats.ts'

/** The sequence of the last message of a subject, or of the whole stream. */
export type Expectation = Readonly<{ subject?: string; sequence: number }>

/** A message for the log. `id`: the server accepts it once within an hour. `fields`: additional headers. */
export type Outgoing = Readonly<{
  subject: string
  data: Buffer
  id?: string
  expected?: Expectation
  fields?: Headers
}>

/** An answer to what was sent in one step. Nothing was written unless it is `stored`. */
type Answered =
  /** The sequence of the last message. */
  | Readonly<{ kind: 'stored'; sequence: number }>
  /** The single message's id is taken, by the message of this sequence. */
  | Readonly<{ kind: 'known'; sequence: number }>
  /** At least one id of several messages is taken. */
  | Readonly<{ kind: 'someKnown' }>
  | Readonly<{ kind: 'conflict' }>

export type Published =
  /** Of each that was given, the sequence of its last message: into how many it is split, the server may change at any time. */
  Readonly<{ kind: 'stored'; sequences: readonly number[] }> | Exclude<Answered, Readonly<{ kind: 'stored' }>>

/** All are right before the last one. */
function placed(answered: Answered, split: readonly (readonly Message[])[]): Published {
  if (answered.kind !== 'stored') return answered
  let after = answered.sequence - split.flat().length
  return { kind: 'stored', sequences: split.map(({ length }) => (after += length)) }
}

/** How much of the server's `max_payload` is reserved for headers. */
export const headerBytesMax = 4 * 1024
/** The server takes 1,000. */
export const messagesPerBatchMax = 512
/** How long messages are sent again that collide with others being replicated, or meet a change of leader. */
const contentionTimeoutMs = 5_000
const contentionPauseMs = 10
/** How long the reason why nobody listens is waited for: where there is no leader, nobody tells one. */
const explainMsMax = 500

const partHeader = 'Throughline-Part'
const idHeader = 'Nats-Msg-Id'

const partCount = (data: Buffer, bytesMax: number): number => Math.max(1, Math.ceil(data.length / bytesMax))

function expectationFields({ subject, sequence }: Expectation): Headers {
  if (subject === undefined) return { 'Nats-Expected-Last-Sequence': String(sequence) }
  return {
    'Nats-Expected-Last-Subject-Sequence': String(sequence),
    'Nats-Expected-Last-Subject-Sequence-Subject': subject,
  }
}

/** A message as it is sent, with all its headers. */
type Message = Readonly<{ subject: string; data: Buffer; fields: Headers }>

/** Splits an event that is too large for one message (`Throughline-Part: 2/3`); the parts are stored in one step. */
function partsOf({ subject, data, id, expected, fields: given }: Outgoing, bytesMax: number): readonly Message[] {
  const count = partCount(data, bytesMax)
  return Array.from({ length: count }, (_, index) => {
    const part = data.subarray(index * bytesMax, (index + 1) * bytesMax)
    const fields: Record<string, string> = { ...given }
    if (count > 1) fields[partHeader] = `${index + 1}/${count}`
    // The event has the position of its last part, so that part carries the id.
    if (id !== undefined && index === count - 1) fields[idHeader] = id
    if (expected !== undefined && index === 0) Object.assign(fields, expectationFields(expected))
    return { subject, data: part, fields }
  })
}

/** Which part a message is, from 1, and of how many. */
export type Part = Readonly<{ index: number; count: number }>

/** The part of an event that is one message. */
export const wholePart: Part = { index: 1, count: 1 }

export function readPart(header: (name: string) => string): Part {
  const [index, count] = header(partHeader).split('/').map(Number)
  return index === undefined || count === undefined ? wholePart : { index, count }
}

/** The server can tell only in a moment. */
const again = 'again'

function answerTo(error: ServerError, subject: string): Answered | typeof again {
  switch (error.code) {
    case serverCodes.wrongLastSequence:
      return { kind: 'conflict' }
    case serverCodes.batchHoldsKnownId:
      return { kind: 'someKnown' }
    case serverCodes.wrongLastSequenceForNow:
    case serverCodes.idInProcess:
    case serverCodes.tooManyBatches:
    // Also the answer when there are too many batches: the refusal itself goes to the first message, which asks for no answer.
    case serverCodes.batchIncomplete:
      return again
    default:
      throw failureOf(error, 'append to', subject)
  }
}

export type Publisher = Readonly<{
  /** The size up to which an encoded message is not split. */
  messageBytesMax(): number
  /** How many messages it is split into. */
  messagesOf(message: Outgoing): number
  /** Sends all in one step. Only the first may have an expectation. */
  publish(messages: readonly Outgoing[]): Promise<Published>
  /** The sequence of the message that holds an id, according to the leader; undefined if the id is free. */
  lookUp(subject: string, id: string): Promise<number | undefined>
}>

/** `explain` throws the reason why nobody listens to a log's subject, if it is known. */
export function createPublisher(nats: Nats, log: string, explain: () => Promise<unknown>): Publisher {
  const messageBytesMax = (): number => Math.max(1, nats.payloadBytesMax() - headerBytesMax)

  /** The start refuses such a server; but one that runs may be started again with another setting. */
  function checkRoom(): void {
    const bytes = nats.payloadBytesMax()
    if (bytes > headerBytesMax) return
    const cause = new Error(`the server takes messages of at most ${bytes} bytes`)
    throw new TransientError({ operation: 'append to', subject: log, cause, hint: 'raise its max_payload' })
  }

  async function request(operation: string, subject: string, data: Uint8Array | string, fields: Headers) {
    const received = await nats.request(subject, data, fields)
    if (received.code !== 503) return parseAnswer(received.data)
    await Promise.race([explain(), sleep(explainMsMax)])
    throw new TransientError({ operation, subject: log, hint: noLeaderHint })
  }

  async function ask({ subject, data, fields }: Message): Promise<Answered | typeof again> {
    const { answer, error } = await request('append to', subject, data, fields)
    if (error !== undefined) return answerTo(error, log)
    const sequence = Number(answer['seq'])
    return answer['duplicate'] === true ? { kind: 'known', sequence } : { kind: 'stored', sequence }
  }

  async function sendBatch(parts: readonly Message[]): Promise<Answered | typeof again> {
    const id = randomUUID()
    for (const [index, { subject, data, fields: own }] of parts.entries()) {
      const fields = { ...own, 'Nats-Batch-Id': id, 'Nats-Batch-Sequence': String(index + 1) }
      if (index === parts.length - 1) return ask({ subject, data, fields: { ...fields, 'Nats-Batch-Commit': '1' } })
      nats.publish(subject, data, fields)
    }
    throw new TypeError('a batch of nothing')
  }

  /** Sends again until there is an outcome. */
  async function insist<T>(operation: string, send: () => Promise<T | typeof again>): Promise<T> {
    const started = performance.now()
    for (;;) {
      const answered = await send()
      if (answered !== again) return answered
      if (performance.now() - started > contentionTimeoutMs) {
        const hint =
          'too many others append at once, or its leader is changing; if it lasts, the disk of NATS may be full, see /healthz there: make room and restart it'
        throw new TransientError({ operation, subject: log, hint })
      }
      await sleep(contentionPauseMs * Math.random())
    }
  }

  return {
    messageBytesMax,
    messagesOf: ({ data }) => partCount(data, messageBytesMax()),
    publish: async (messages) => {
      checkRoom()
      const split = messages.map((message) => partsOf(message, messageBytesMax()))
      const parts = split.flat()
      if (parts.length > messagesPerBatchMax) {
        const hint = `it takes ${parts.length} messages, ${messagesPerBatchMax} go in one step: raise the server’s max_payload`
        throw new PermanentError({ operation: 'append to', subject: log, hint })
      }
      const [first] = parts
      const send = () => (parts.length === 1 && first !== undefined ? ask(first) : sendBatch(parts))
      return placed(await insist('append to', send), split)
    },
    // The streams refuse rollups, but the server looks for the id first. So the answer tells whether the id is known, and nothing is stored.
    // The leader answers, so it knows everything that was acknowledged before.
    lookUp: (subject, id) =>
      insist('search', async () => {
        const { answer, error } = await request('search', subject, '', { [idHeader]: id, 'Nats-Rollup': 'sub' })
        if (error === undefined) return Number(answer['seq'])
        if (error.code === serverCodes.rollupRefused) return undefined
        if (error.code === serverCodes.idInProcess) return again
        throw failureOf(error, 'search', log)
      }),
  }
}
