import protobuf from 'protobufjs/minimal.js'
import type { Refusal, RefusalCode } from '#src/events/refusal.ts'
import type { OtlpContentType } from './content-type.ts'

/** An answer in the encoding of its request. The content type has no parameters: the Collector compares it exactly. */
export type OtlpReply = Readonly<{ contentType: OtlpContentType; body: Uint8Array }>

/** What a 200 says other than full success. With 0 rejected spans the message is a warning. */
export type PartialSuccess = Readonly<{ rejectedSpans: number; errorMessage: string }>

const encoder = new TextEncoder()

/**
 * ExportTraceServiceResponse. Full success leaves `partial_success` unset: no bytes in protobuf, `{}` in JSON.
 * Source: opentelemetry-proto collector/trace/v1, OTLP specification "Full Success" and "Partial Success".
 */
export function encodeSuccess(contentType: OtlpContentType, partial?: PartialSuccess): OtlpReply {
  if (contentType === 'application/json')
    return json(partial === undefined ? {} : { partialSuccess: partialJson(partial) })
  const writer = protobuf.Writer.create()
  if (partial !== undefined) {
    writer.uint32(10).fork()
    if (partial.rejectedSpans !== 0) writer.uint32(8).int64(partial.rejectedSpans)
    if (partial.errorMessage !== '') writer.uint32(18).string(partial.errorMessage)
    writer.ldelim()
  }
  return { contentType, body: writer.finish() }
}

/** The varint and length-delimited fields of a message, the last of each number. Throws on other wire types and on bytes that are no message. */
function fieldsOf(message: Uint8Array): ReadonlyMap<number, number | Uint8Array> {
  const reader = protobuf.Reader.create(message)
  const found = new Map<number, number | Uint8Array>()
  while (reader.pos < reader.len) {
    const tag = reader.uint32()
    const wire = tag & 7
    if (wire !== 0 && wire !== 2) throw new RangeError(`wire type ${wire}`)
    found.set(tag >>> 3, wire === 2 ? reader.bytes() : Number(reader.int64()))
  }
  return found
}

/** What a 200 in protobuf says; nothing is rejected if `partial_success` is unset. Undefined for a body that `encodeSuccess` does not make. */
export function decodePartialSuccess(body: Uint8Array): PartialSuccess | undefined {
  try {
    const partial = fieldsOf(body).get(1) ?? new Uint8Array()
    if (typeof partial === 'number') return undefined
    const fields = fieldsOf(partial)
    const [rejectedSpans = 0, message = new Uint8Array()] = [fields.get(1), fields.get(2)]
    if (typeof rejectedSpans !== 'number' || typeof message === 'number') return undefined
    return { rejectedSpans, errorMessage: Buffer.from(message).toString() }
  } catch {
    return undefined
  }
}

/** int64 is a string in the proto3 JSON mapping; default values are left out. */
function partialJson({ rejectedSpans, errorMessage }: PartialSuccess): object {
  return {
    ...(rejectedSpans !== 0 && { rejectedSpans: String(rejectedSpans) }),
    ...(errorMessage !== '' && { errorMessage }),
  }
}

/** Canonical codes of google.rpc.Code. Only 4, 8 (with RetryInfo) and 14 invite a client to try again. */
const invalidArgument = 3
const deadlineExceeded = 4
const notFound = 5
const permissionDenied = 7
const resourceExhausted = 8
const unimplemented = 12
const unavailable = 14
const unauthenticated = 16

const rpcCodes: Readonly<Record<RefusalCode, number>> = {
  invalid_request: invalidArgument,
  invalid_body: invalidArgument,
  invalid_parameter: invalidArgument,
  unknown_parameter: invalidArgument,
  query_syntax: invalidArgument,
  query_too_broad: invalidArgument,
  invalid_cursor: invalidArgument,
  cursor_mismatch: invalidArgument,
  missing_credential: unauthenticated,
  invalid_credential: unauthenticated,
  revoked_credential: unauthenticated,
  not_signed_in: unauthenticated,
  wrong_key_kind: permissionDenied,
  secret_in_browser: permissionDenied,
  secret_key_in_browser: permissionDenied,
  origin_not_allowed: permissionDenied,
  entitlement_required: permissionDenied,
  forbidden: permissionDenied,
  not_found: notFound,
  method_not_allowed: unimplemented,
  body_timeout: deadlineExceeded,
  payload_too_large: invalidArgument,
  unsupported_media_type: invalidArgument,
  unsupported_encoding: invalidArgument,
  rate_limited: resourceExhausted,
  overloaded: unavailable,
  unavailable,
}

const typeUrl = (name: string): string => `type.googleapis.com/google.rpc.${name}`
const errorDomain = 'throughline'
/** Reasons are upper case in google.rpc.ErrorInfo: `ENTITLEMENT_REQUIRED`. */
const reasonOf = ({ code }: Refusal): string => code.toUpperCase()

/**
 * google.rpc.Status: the canonical code, the detail as its message, ErrorInfo with our stable code (and the missing feature of an entitlement), and
 * RetryInfo if the refusal says when to try again. Source: OTLP specification "Failures", googleapis google/rpc/status.proto and error_details.proto.
 */
export function encodeStatus(contentType: OtlpContentType, refusal: Refusal): OtlpReply {
  const { code, detail, feature, retryAfterS } = refusal
  if (contentType === 'application/json') {
    const info = { '@type': typeUrl('ErrorInfo'), reason: reasonOf(refusal), domain: errorDomain }
    const retry = { '@type': typeUrl('RetryInfo'), retryDelay: `${retryAfterS ?? 0}s` }
    const details = [
      feature === undefined ? info : { ...info, metadata: { feature } },
      ...(retryAfterS === undefined ? [] : [retry]),
    ]
    return json({ code: rpcCodes[code], message: detail, details })
  }
  const writer = protobuf.Writer.create()
  writer.uint32(8).int32(rpcCodes[code]).uint32(18).string(detail)
  writeAny(writer, 'ErrorInfo', encodeErrorInfo(refusal))
  if (retryAfterS !== undefined) writeAny(writer, 'RetryInfo', encodeRetryInfo(retryAfterS))
  return { contentType, body: writer.finish() }
}

function writeAny(writer: protobuf.Writer, name: string, value: Uint8Array): void {
  writer.uint32(26).fork().uint32(10).string(typeUrl(name)).uint32(18).bytes(value).ldelim()
}

function encodeErrorInfo(refusal: Refusal): Uint8Array {
  const writer = protobuf.Writer.create()
  writer.uint32(10).string(reasonOf(refusal)).uint32(18).string(errorDomain)
  if (refusal.feature !== undefined) {
    writer.uint32(26).fork().uint32(10).string('feature').uint32(18).string(refusal.feature).ldelim()
  }
  return writer.finish()
}

/** RetryInfo with retry_delay, a google.protobuf.Duration of whole seconds. */
function encodeRetryInfo(seconds: number): Uint8Array {
  return protobuf.Writer.create().uint32(10).fork().uint32(8).int64(Math.ceil(seconds)).ldelim().finish()
}

const json = (value: object): OtlpReply => ({
  contentType: 'application/json',
  body: encoder.encode(JSON.stringify(value)),
})
