import { refusal, type Refusal } from '#src/events/refusal.ts'
import { afterMark, skipSpace, type JsonRange } from '#src/lib/json-bytes.ts'
import { fail, ok, type Result } from '#src/lib/result.ts'
import { isMessageName, lokiList } from './aliases.ts'
import { besideOverLimit, besideWriter } from './beside.ts'
import { withoutActions } from './bulk.ts'
import { inUtf8 } from './charset.ts'
import { eachLine } from './lines.ts'
import { resolveMediaType, type LogMediaType } from './media-type.ts'
import { membersOf } from './json-members.ts'
import { msgpackMembersOf, msgpackMembersOfWrapper } from './msgpack-members.ts'
import { readList, splitJson } from './split-json.ts'
import { splitMsgpack, splitMsgpackList } from './split-msgpack.ts'
import { createTally, type RejectedRecord, type Split, type SplitLimits } from './split.ts'
import { isTelling, foreignListOf, wrapperOf, type Wrapper } from './wrapper.ts'

/** What is known about a log request before any record is decoded. */
export type LogScan = Readonly<{
  /** The media type to decode the payload as, whatever the sender called it. */
  contentType: LogMediaType
  /** Accepted records: `decodeLogs` of the payload gives exactly this many. */
  records: number
  /** Bad records, in order, each with its reason. The index counts all records of the request. */
  rejected: readonly RejectedRecord[]
  /** Good and bad records together. */
  total: number
  /** The body as received if nothing was rejected, otherwise the accepted records byte for byte in the same format. Text is converted to UTF-8. */
  payload: Uint8Array
}>

/**
 * Checks a log body (decompressed): its form, its limits, and each record's shape. Refuses as a whole with
 * `unsupported_media_type`, with `invalid_body` what is broken so that no record can be told from the next, and with
 * `payload_too_large` more records or values than a request may have. An empty body or batch is a success with 0 records.
 * Forms: JSON, NDJSON, MessagePack and text (split.ts).
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
  const whole =
    (mediaType === 'text/plain' ? listInText(body, limits) : undefined) ?? splitBody(body, mediaType, limits)
  if (!whole.ok) return whole
  const unwrap = mediaType === 'application/msgpack' ? unwrapMsgpack : unwrapConditional
  const given = unwrap(body, whole.value, limits)
  const refused = notLogs(given) ?? overLimit(given, limits) ?? besideOverLimit(body, given, limits)
  if (refused !== undefined) return fail(refused)
  const split = withoutActions(body, given)
  const { accepted, rejected, total, asReceived } = split
  return ok({
    contentType: split.mediaType,
    records: accepted.length,
    rejected,
    total,
    payload: asReceived ? body : join(body, split),
  })
}

/**
 * `fetch` sends every string as text by default. A single JSON list whose records all have messages is taken for records; any other list stays text.
 * Done at ingest only: a body stored as text is decoded as text.
 */
function listInText(body: Uint8Array, limits: SplitLimits): Result<Split, Refusal> | undefined {
  if (!startsListOfObjects(body)) return undefined
  const split = splitJson(body, 'application/json', limits)
  if (!split.ok || split.value.mediaType !== 'application/json') return undefined
  // It is refused anyway, and checking it would take long.
  if (isTooMuch(split.value, limits)) return split
  const { accepted, rejected } = split.value
  const isList = rejected.length === 0 && accepted.every((record) => isTelling(membersOf(body, record, isMessageName)))
  return isList ? split : undefined
}

function startsListOfObjects(body: Uint8Array): boolean {
  const start = skipSpace(body, afterMark(body))
  return body[start] === 0x5b && body[skipSpace(body, start + 1)] === 0x7b
}

/**
 * The records of a body that is one map. Done at ingest only, which stores them without the wrapper: a body that was stored as one record must decode
 * as one record.
 */
function unwrapMsgpack(body: Uint8Array, whole: Split, limits: SplitLimits): Split {
  const members = whole.total === 1 ? msgpackMembersOfWrapper(body) : []
  const wrapper = wrapperOf(members)
  const asRecord = { ...whole, foreignList: foreignListOf(members) }
  if (wrapper === undefined) return asRecord
  const split = splitMsgpackList(body, wrapper.list, limits)
  const { condition } = wrapper
  const isRecord = (value: JsonRange): boolean =>
    condition === undefined || condition.holds(msgpackMembersOf(body, value, condition.isRead))
  if (condition !== undefined && !areRecords(split, wrapper, isTooMuch(whole, limits), isRecord)) return asRecord
  return { ...split, values: whole.values, asReceived: false, wrapper }
}

/** Like `unwrapMsgpack`, for a JSON body that is one object and may be either a wrapper or a record with a list. */
function unwrapConditional(body: Uint8Array, whole: Split, limits: SplitLimits): Split {
  const { conditional: wrapper } = whole
  const condition = wrapper?.condition
  if (wrapper === undefined || condition === undefined) return whole
  const list = readList(body, wrapper.list, limits)
  const found = { accepted: list.accepted(), rejected: list.rejected(), total: list.total() }
  const isRecord = (value: JsonRange): boolean => condition.holds(membersOf(body, value, condition.isRead))
  if (!areRecords(found, wrapper, isTooMuch(whole, limits), isRecord)) return whole
  return { ...whole, ...found, asReceived: false, wrapper }
}

/**
 * Whether all values in a list are records: a record that has any other list stays a record. If the body is over the limits, checking would take
 * long: then they are taken for records, counted and refused.
 */
const areRecords = (
  { accepted, rejected }: Pick<Split, 'accepted' | 'rejected'>,
  { isAmbiguous }: Wrapper,
  areTooMuch: boolean,
  isRecord: (value: JsonRange) => boolean,
): boolean => !isAmbiguous && accepted.length > 0 && rejected.length === 0 && (areTooMuch || accepted.every(isRecord))

/** Refuses what would be read as something other than its sender meant, and so lost silently. */
function notLogs({ foreignList, total, wrapper }: Split): Refusal | undefined {
  if (wrapper?.isAmbiguous === true) return twoWrappers
  if (foreignList === undefined) return undefined
  // A push to Loki is a whole body. Refusing because of a first record that looks like one would lose the others.
  if (foreignList === lokiList) return total === 1 ? lokiPush : undefined
  const found = `the body is an OTLP request (\`${foreignList}\`), which is not taken here`
  const instead = foreignList.endsWith('pans')
    ? 'traces go to /api/traces/v1/otlp'
    : 'send logs as JSON records, in an array or a line each; metrics are not taken'
  return refusal('invalid_body', `${found}: ${instead}`)
}

const lokiPush = refusal(
  'invalid_body',
  'the body is a push to Grafana Loki (`streams`), which is not taken here: send logs as JSON records, in an array or a line each',
)

const twoWrappers = refusal('invalid_body', 'both `logs` and `events` hold records; send one of them')

const tooLongInUtf8 = ({ decodedBytesMax }: SplitLimits): Refusal =>
  refusal('payload_too_large', `in UTF-8 the body has more than ${decodedBytesMax} bytes`)

/** The records of a body. The decoder uses it too, so that both find the same ones. */
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

/** One record per line. The white space before it is kept, as in a stack trace. */
function splitText(body: Uint8Array, limits: SplitLimits): Split {
  const tally = createTally(limits.recordsPerBatchMax)
  eachLine(body, (_start, end, lineStart) => tally.accept(lineStart, end))
  return whole('text/plain', tally, tally.total())
}

/** A form is one record, whose values are its pairs. */
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

const isTooMuch = ({ values }: Pick<Split, 'values'>, { nodesPerRequestMax }: SplitLimits): boolean =>
  values > nodesPerRequestMax

function overLimit({ total, values }: Split, limits: SplitLimits): Refusal | undefined {
  if (total > limits.recordsPerBatchMax) {
    return refusal(
      'payload_too_large',
      `more than ${limits.recordsPerBatchMax} records in one request; send smaller batches`,
      { records: total },
    )
  }
  if (isTooMuch({ values }, limits)) {
    return refusal(
      'payload_too_large',
      `${values} values in one request; at most ${limits.nodesPerRequestMax} are taken`,
      { records: total },
    )
  }
  return undefined
}

function unsupported(contentType: string | undefined): Refusal {
  // Clients of Loki send protobuf under the same name as OTLP, and pack it without saying so.
  if (/^application\/(?:x-)?protobuf\b/i.test(contentType ?? '')) {
    return refusal(
      'unsupported_media_type',
      'neither OTLP nor a push to Grafana Loki is read here: traces go to /api/traces/v1/otlp, and logs are sent as JSON records',
    )
  }
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

/** MessagePack's head of a list with one item: without it a lone record could be taken for a wrapper if the payload is sent again. */
const listOfOne = Buffer.from([0x91])

/** Joins the accepted records into an array, lines, or a sequence of values. */
function join(body: Uint8Array, split: Split): Uint8Array {
  const { accepted, mediaType } = split
  const { open, between, close } = frames[mediaType]
  const write = besideWriter(body, split)
  const separator = Buffer.from(between)
  const parts: Uint8Array[] = [Buffer.from(open)]
  if (mediaType === 'application/msgpack' && accepted.length === 1) parts.push(listOfOne)
  for (const [index, record] of accepted.entries()) {
    if (index > 0) parts.push(separator)
    parts.push(write(record))
  }
  return Buffer.concat([...parts, Buffer.from(close)])
}
