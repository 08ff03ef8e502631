import { crc32 } from 'node:zlib'
import { crcHolds, formatHeader, parseHeader } from '#src/events/codec.ts'
import { positionStep, type NewEvent, type Position, type RecordedEvent } from '#src/events/envelope.ts'
import { PermanentError } from '#src/lib/failure.ts'

/**
 * A message as it is stored: one event or several, numbers little-endian.
 *
 *   0  version, 1
 *   1  CRC-32 of all between here and the first payload
 *   5  number of events, 16 bits
 *   7  for each: bytes of its header, bytes of its payload, 32 bits each
 *      the headers (JSON, events/codec.ts), then the payloads, each covered by the `crc` of its header
 */
const version = 1
const eventsAt = 7
const lengthsBytes = 8

/** As many as one step of positions can distinguish. */
export const eventsPerMessageMax = positionStep

/** An event with its header as text, which is made early because its length is needed. */
export type PackedEvent = Readonly<{ event: NewEvent; header: Buffer; bytes: number }>

/** Throws PermanentError if the event could not be read back. */
export function packEvent(event: NewEvent): PackedEvent {
  const text = formatHeader(event)
  parseHeader(text)
  if (!crcHolds(event)) {
    throw new PermanentError({ operation: 'append event', subject: event.id, hint: 'its crc is not its payload’s' })
  }
  const header = Buffer.from(text)
  return { event, header, bytes: lengthsBytes + header.length + event.payload.length }
}

export const messageBytes = (events: readonly PackedEvent[]): number =>
  events.reduce((sum, { bytes }) => sum + bytes, eventsAt)

export function encodeMessage(events: readonly PackedEvent[]): Buffer {
  const message = Buffer.allocUnsafe(messageBytes(events))
  message.writeUInt8(version, 0)
  message.writeUInt16LE(events.length, 5)
  let offset = eventsAt
  for (const { header, event } of events) {
    message.writeUInt32LE(header.length, offset)
    message.writeUInt32LE(event.payload.length, offset + 4)
    offset += lengthsBytes
  }
  for (const { header } of events) offset += header.copy(message, offset)
  message.writeUInt32LE(crc32(message.subarray(5, offset)), 1)
  for (const { event } of events) {
    message.set(event.payload, offset)
    offset += event.payload.length
  }
  return message
}

/**
 * The position of an event in the message of a sequence: the last one is at sequence × 4096, the others right below. So a message ends at a
 * multiple, and the head follows from the last sequence alone.
 */
export const positionIn = (sequence: number, index: number, count: number): Position =>
  sequence * positionStep - (count - 1 - index)

/** The first sequence that may hold what comes after a position. */
export const sequenceAfter = (position: Position): number => Math.floor(position / positionStep) + 1

/** Headers and payloads, in order. Throws if the lengths do not add up or the checksum does not match. */
function cut(message: Buffer): readonly (readonly [header: string, payload: Buffer])[] {
  if (message.length < eventsAt || message.readUInt8(0) !== version) throw new Error('unknown version')
  const count = message.readUInt16LE(5)
  const lengths = Array.from({ length: count }, (_, index) => {
    const at = eventsAt + index * lengthsBytes
    return [message.readUInt32LE(at), message.readUInt32LE(at + 4)] as const
  })
  const headersAt = eventsAt + count * lengthsBytes
  const payloadsAt = lengths.reduce((sum, [header]) => sum + header, headersAt)
  const end = lengths.reduce((sum, [, payload]) => sum + payload, payloadsAt)
  if (count === 0 || end !== message.length) throw new Error('its lengths do not add up')
  if (crc32(message.subarray(5, payloadsAt)) !== message.readUInt32LE(1)) throw new Error('its checksum does not match')
  let [headerAt, payloadAt] = [headersAt, payloadsAt]
  return lengths.map(([header, payload]) => [
    message.toString('utf8', headerAt, (headerAt += header)),
    message.subarray(payloadAt, (payloadAt += payload)),
  ])
}

/** The events of a stored message. Throws PermanentError if it is damaged. */
export function decodeMessage(bytes: Uint8Array, sequence: number, log: string): readonly RecordedEvent[] {
  const message = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  try {
    const parts = cut(message)
    return parts.map(([header, payload], index) => {
      const event = { ...parseHeader(header), payload, position: positionIn(sequence, index, parts.length) }
      if (!crcHolds(event)) throw new Error(`the checksum of the payload of event ${event.id} does not match`)
      return event
    })
  } catch (cause) {
    throw new PermanentError({
      operation: `read message ${sequence} of stream`,
      subject: log,
      hint: 'the log is damaged',
      cause,
    })
  }
}
