import {
  constants,
  crc32,
  gunzipSync,
  zstdCompress,
  zstdCompressSync,
  zstdDecompressSync,
  type ZstdOptions,
} from 'node:zlib'
import { promisify } from 'node:util'
import { PermanentError } from '#src/lib/failure.ts'
import { isJsonObject, type Json, type JsonObject } from '#src/lib/json.ts'
import {
  allowanceEventTypes,
  deadLetterEventTypes,
  noCounts,
  telemetryEventTypes,
  workspaceEventTypes,
  type Counts,
  type EventHeader,
  type EventType,
  type NewEvent,
} from './envelope.ts'
import { workspaceIdOf } from './workspace-id.ts'

/** The fields of an event before its payload is compressed. */
export type EventFields = Omit<EventHeader, 'encoding' | 'crc'>

/** Below this many bytes, compression costs 20 µs and decompression 25 µs, to save some 90 bytes. */
const packedBytesMin = 1024
/** Nothing that ingest accepts is larger when unpacked; a payload that claims to be larger is damaged. */
const decodedBytesMaxDefault = 128 * 1024 * 1024

const partitionTypes: ReadonlySet<string> = new Set([
  ...telemetryEventTypes,
  ...allowanceEventTypes,
  ...deadLetterEventTypes,
  ...workspaceEventTypes,
])
const countNames = Object.keys(noCounts) as readonly (keyof Counts)[]

const isEventType = (text: string): text is EventType =>
  partitionTypes.has(text) || /^directory\.[A-Za-z][A-Za-z.]{0,63}$/.test(text)

/** The header as compact JSON text: absent members, `null` keys, zero counts and an empty encoding are left out. */
export function formatHeader(header: EventHeader): string {
  const counts: Partial<Record<keyof Counts, number>> = {}
  for (const name of countNames) if (header.counts[name] !== 0) counts[name] = header.counts[name]
  // Named one by one, so that the payload and other properties of a caller's object are left out.
  return JSON.stringify({
    id: header.id,
    type: header.type,
    schemaVersion: header.schemaVersion,
    workspaceId: header.workspaceId,
    keyId: header.keyId ?? undefined,
    receivedAt: header.receivedAt,
    retentionClass: header.retentionClass,
    identified: header.identified,
    subject: header.subject,
    reservation: header.reservation,
    counts,
    answer: header.answer,
    contentType: header.contentType,
    encoding: header.encoding === '' ? undefined : header.encoding,
    crc: header.crc,
  })
}

/**
 * The header that `formatHeader` wrote. Every member is checked, unknown ones are dropped; throws PermanentError on
 * anything else. Any schema version passes: upcast.ts decides what this program can read.
 */
export function parseHeader(text: string): EventHeader {
  try {
    return headerOf(JSON.parse(text) as Json)
  } catch (cause) {
    throw new PermanentError({
      operation: 'parse event header',
      subject: JSON.stringify(text.slice(0, 120)),
      hint: 'the log is damaged, or written by a newer version of Throughline',
      cause,
    })
  }
}

/**
 * Throws PermanentError when `parseHeader` would not read the header again that `formatHeader` makes of this one: the log
 * must not take what it cannot give back.
 */
export function checkHeader(header: EventHeader): void {
  try {
    // Checked without making the text: the fields are what it would hold, except a `keyId` of null, which it leaves out.
    headerOf({ ...header, keyId: header.keyId ?? undefined } as unknown as JsonObject)
  } catch (cause) {
    throw new PermanentError({ operation: 'check event header', subject: formatHeader(header).slice(0, 120), cause })
  }
}

function headerOf(value: Json): EventHeader {
  if (!isJsonObject(value)) throw new TypeError('not an object')
  if (typeof value['identified'] !== 'boolean') throw new TypeError('identified is not a boolean')
  return {
    id: text(value, 'id'),
    type: typeOf(value),
    schemaVersion: count(value, 'schemaVersion', 1),
    workspaceId: workspaceIdOf(text(value, 'workspaceId')),
    keyId: optionalText(value, 'keyId') ?? null,
    receivedAt: count(value, 'receivedAt'),
    retentionClass: text(value, 'retentionClass'),
    identified: value['identified'],
    ...optional('subject', optionalText(value, 'subject')),
    ...optional('reservation', optionalText(value, 'reservation')),
    counts: countsOf(value['counts']),
    ...optional('answer', optionalText(value, 'answer')),
    contentType: text(value, 'contentType', 0),
    encoding: encodingOf(value),
    crc: count(value, 'crc', 0, 0xff_ff_ff_ff),
  }
}

function typeOf(value: JsonObject): EventType {
  const type = text(value, 'type')
  if (!isEventType(type)) throw new TypeError(`unknown event type ${JSON.stringify(type)}`)
  return type
}

function encodingOf(value: JsonObject): EventHeader['encoding'] {
  const encoding = optionalText(value, 'encoding') ?? ''
  if (encoding === '' || encoding === 'zstd' || encoding === 'gzip') return encoding
  throw new TypeError(`unknown encoding ${JSON.stringify(encoding)}`)
}

const optional = <Name extends string>(name: Name, value: string | undefined): { [N in Name]?: string } =>
  (value === undefined ? {} : { [name]: value }) as { [N in Name]?: string }

function countsOf(value: Json | undefined): Counts {
  if (!isJsonObject(value)) throw new TypeError('counts is not an object')
  const of = (name: keyof Counts): number => (value[name] === undefined ? 0 : count(value, name))
  return {
    spans: of('spans'),
    logs: of('logs'),
    rumEvents: of('rumEvents'),
    refused: of('refused'),
    bytes: of('bytes'),
  }
}

function text(value: JsonObject, name: string, charactersMin = 1): string {
  const found = value[name]
  if (typeof found !== 'string' || found.length < charactersMin) throw new TypeError(`${name} is not a text`)
  return found
}

function optionalText(value: JsonObject, name: string): string | undefined {
  const found = value[name]
  if (found !== undefined && typeof found !== 'string') throw new TypeError(`${name} is not a text`)
  return found
}

function count(value: JsonObject, name: string, min = 0, max = Number.MAX_SAFE_INTEGER): number {
  const found = value[name]
  if (typeof found !== 'number' || !Number.isSafeInteger(found) || found < min || found > max) {
    throw new TypeError(`${name} is not an integer from ${min} to ${max}`)
  }
  return found
}

/** CRC-32 (ISO 3309, as in zlib) of the payload's stored bytes: what an event's `crc` says. */
export const crcOf = (payload: Uint8Array): number => crc32(payload)

/** True when the stored bytes are those that the header was made for. */
export const crcHolds = (event: NewEvent): boolean => crc32(event.payload) === event.crc

/** zlib's default output chunk is 64 KiB, which a small result would keep alive whole. */
const packing = (bytes: number): ZstdOptions => ({
  params: { [constants.ZSTD_c_compressionLevel]: 1 },
  chunkSize: Math.min(Math.max(bytes, 1024), 64 * 1024),
})

function seal(fields: EventFields, decoded: Uint8Array, packed: Uint8Array | undefined): NewEvent {
  const smaller = packed !== undefined && packed.length < decoded.length
  const payload = smaller ? packed : decoded
  return { ...fields, encoding: smaller ? 'zstd' : '', crc: crc32(payload), payload }
}

/**
 * The event with its payload as it is stored: zstd level 1 where that makes it smaller, else the bytes themselves (not
 * copied), and its checksum. Blocks for about 2 ms a megabyte: for large payloads use `sealLargeEvent`.
 */
export function sealEvent(fields: EventFields, decoded: Uint8Array): NewEvent {
  const packed = decoded.length < packedBytesMin ? undefined : zstdCompressSync(decoded, packing(decoded.length))
  return seal(fields, decoded, packed)
}

const zstdCompressAside = promisify<Uint8Array, ZstdOptions, Uint8Array>(zstdCompress)

/** `sealEvent` with the compression in zlib's thread pool, so that the event loop is not blocked. */
export async function sealLargeEvent(fields: EventFields, decoded: Uint8Array): Promise<NewEvent> {
  return seal(fields, decoded, await zstdCompressAside(decoded, packing(decoded.length)))
}

/** The event of a payload that its sender has gzipped: these bytes (RFC 1952) are stored as they came, without a copy. */
export function sealGzip(fields: EventFields, gzip: Uint8Array): NewEvent {
  return { ...fields, encoding: 'gzip', crc: crc32(gzip), payload: gzip }
}

/** One buffer for the whole payload, if the size in the header is right: to grow it in steps costs twice the time and memory. */
const unpacking = ({ counts }: EventHeader, maxOutputLength: number) => ({
  maxOutputLength,
  chunkSize: Math.min(Math.max(counts.bytes, 1024), maxOutputLength) + 64,
})

/**
 * The payload as it was sealed. Throws PermanentError when the stored bytes fail their checksum, do not unpack, or unpack to
 * more than `decodedBytesMax` bytes.
 */
export function openPayload(event: NewEvent, decodedBytesMax: number = decodedBytesMaxDefault): Uint8Array {
  const failure = (cause: unknown): PermanentError =>
    new PermanentError({ operation: 'open payload of event', subject: event.id, hint: 'the log is damaged', cause })
  if (!crcHolds(event)) throw failure(new Error('checksum does not match'))
  if (event.encoding === '') return event.payload
  try {
    const unpack = event.encoding === 'gzip' ? gunzipSync : zstdDecompressSync
    return unpack(event.payload, unpacking(event, decodedBytesMax))
  } catch (cause) {
    throw failure(cause)
  }
}
