import { refusal, type Refusal } from '#src/events/refusal.ts'
import { skipSpace } from '#src/lib/json-bytes.ts'
import { fail, ok, type Result } from '#src/lib/result.ts'
import { inUtf8 } from './charset.ts'
import { eachLine } from './lines.ts'
import { afterMark, resolveMediaType, type LogMediaType } from './media-type.ts'
import { splitJson } from './split-json.ts'
import { splitMsgpack } from './split-msgpack.ts'
import { createTally, type RejectedRecord, type Split, type SplitLimits } from './split.ts'

export type { RejectedRecord } from './split.ts'
export type { LogMediaType } from './media-type.ts'

/** What is known of a log request before any of its records is an object. */
export type LogScan = Readonly<{
  /** How the payload is to be decoded, whatever the sender called it. */
  contentType: LogMediaType
  /** Records accepted: `decodeLogs` of the payload gives exactly so many. */
  records: number
  /** Bad records, in order, with the reason of each; their index counts all records of the request. */
  rejected: readonly RejectedRecord[]
  /** Good and bad records together. */
  total: number
  /** The body as received when nothing was rejected, else the accepted records, byte for byte, in the same format; text in UTF-8. */
  payload: Uint8Array
}>

/**
 * Checks a log body (decompressed): its form, its limits, and each record's shape. Refuses as a whole with
 * `unsupported_media_type`, with `invalid_body` what is broken so that no record can be told from the next, and with
 * `payload_too_large` more records or values than a request may have. An empty body or batch is a success with 0 records.
 * Forms: CONTRACT §3.
 */
export function scanLogs(
  received: Uint8Array,
  contentType: string | undefined,
  limits: SplitLimits,
): Result<LogScan, Refusal> {
  const body = inUtf8(received, contentType, limits.decodedBytesMax)
  if (body === undefined) return fail(tooLongInUtf8(limits))
  const mediaType = resolveMediaType(contentType, body)
  if (mediaType === undefined) return fail(unsupported(contentType))
  const split = splitBody(body, mediaType, limits)
  if (!split.ok) return split
  if (split.value.isAmbiguous === true) return fail(twoWrappers)
  const tooMuch = overLimit(split.value, limits)
  if (tooMuch !== undefined) return fail(tooMuch)
  const { accepted, rejected, total, asReceived } = split.value
  return ok({
    contentType: split.value.mediaType,
    records: accepted.length,
    rejected,
    total,
    payload: asReceived ? body : join(body, split.value),
  })
}

const twoWrappers = refusal('invalid_body', 'both `logs` and `events` hold records; send one of them')

const tooLongInUtf8 = ({ decodedBytesMax }: SplitLimits): Refusal =>
  refusal('payload_too_large', `in UTF-8 the body has more than ${decodedBytesMax} bytes`)

/** The body's records; used by the decoder too, so that both see the same ones. */
export function splitBody(body: Uint8Array, mediaType: LogMediaType, limits: SplitLimits): Result<Split, Refusal> {
  switch (mediaType) {
    case 'application/json':
    case 'application/x-ndjson': {
      const split = splitJson(body, mediaType, limits)
      return split.ok ? split : fail(refusal('invalid_body', `the body is not JSON from byte ${split.error.offset} on`))
    }
    case 'application/msgpack': {
      const split = splitMsgpack(body, limits)
      if (split.ok) return split
      return fail(
        refusal('invalid_body', `the body is not MessagePack from byte ${split.error.offset} on, or ends early`),
      )
    }
    case 'text/plain':
      return ok(splitText(body, limits))
    case 'application/x-www-form-urlencoded':
      return ok(splitForm(body, limits))
    default:
      return mediaType satisfies never
  }
}

/** A record a line; the white space before it stays, as in a stack trace. */
function splitText(body: Uint8Array, limits: SplitLimits): Split {
  const tally = createTally(limits.recordsPerBatchMax)
  eachLine(body, (_start, end, lineStart) => tally.accept(lineStart, end))
  return whole('text/plain', tally, tally.total())
}

/** A form is one record; its values are its pairs. */
function splitForm(body: Uint8Array, limits: SplitLimits): Split {
  const tally = createTally(limits.recordsPerBatchMax)
  const start = skipSpace(body, afterMark(body))
  if (start < body.length) tally.accept(start, body.length)
  let pairs = 1
  for (let at = body.indexOf(0x26); at !== -1; at = body.indexOf(0x26, at + 1)) pairs++
  return whole('application/x-www-form-urlencoded', tally, pairs)
}

const whole = (mediaType: LogMediaType, tally: ReturnType<typeof createTally>, values: number): Split => ({
  mediaType,
  accepted: tally.accepted(),
  rejected: [],
  total: tally.total(),
  values,
  asReceived: true,
})

function overLimit({ total, values }: Split, limits: SplitLimits): Refusal | undefined {
  if (total > limits.recordsPerBatchMax) {
    return refusal(
      'payload_too_large',
      `more than ${limits.recordsPerBatchMax} records in one request; send smaller batches`,
    )
  }
  if (values > limits.nodesPerRequestMax) {
    return refusal(
      'payload_too_large',
      `${values} values in one request; at most ${limits.nodesPerRequestMax} are taken`,
    )
  }
  return undefined
}

function unsupported(contentType: string | undefined): Refusal {
  const known =
    'application/json, application/x-ndjson, application/msgpack, text/plain, application/x-www-form-urlencoded'
  const named = contentType === undefined || contentType === '' ? 'a body without Content-Type' : 'this Content-Type'
  return refusal('unsupported_media_type', `${named} is not read as logs; send one of ${known}`)
}

const frames: Readonly<Record<LogMediaType, Readonly<{ open: string; between: string; close: string }>>> = {
  'application/json': { open: '[', between: ',', close: ']' },
  'application/x-ndjson': { open: '', between: '\n', close: '\n' },
  'application/msgpack': { open: '', between: '', close: '' },
  'text/plain': { open: '', between: '\n', close: '' },
  'application/x-www-form-urlencoded': { open: '', between: '', close: '' },
}

/** The accepted records alone: an array, lines, or a run of values. */
function join(body: Uint8Array, { accepted, mediaType }: Split): Uint8Array {
  const { open, between, close } = frames[mediaType]
  const separator = Buffer.from(between)
  const parts: Uint8Array[] = [Buffer.from(open)]
  for (const [index, { start, end }] of accepted.entries()) {
    if (index > 0) parts.push(separator)
    parts.push(body.subarray(start, end))
  }
  return Buffer.concat([...parts, Buffer.from(close)])
}
