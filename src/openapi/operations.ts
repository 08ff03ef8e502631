import { z } from 'zod'
import type { RefusalCode } from '#src/events/refusal.ts'
import { correlationAnswer } from '#src/query/correlation-answer.ts'
import { correlationParameters } from '#src/query/correlation.ts'
import { exportContentTypes, logExportParameters } from '#src/query/export.ts'
import { traceListingParameters } from '#src/query/listing.ts'
import { logSearchAnswer, logSearchParameters } from '#src/query/logs.ts'
import { traceListingAnswer, traceSearchAnswer } from '#src/query/trace-answer.ts'
import { traceSearchParameters } from '#src/query/traces.ts'
import {
  logBody,
  logIngestAnswer,
  otlpAnswer,
  otlpBody,
  rpcStatus,
  rumBody,
  rumIngestAnswer,
} from './ingest-schemas.ts'
import { problem } from './problem.ts'

/** A body by its media type: a schema, or `binary` or `text` for what has none in JSON. */
export type Body = Readonly<Record<string, z.ZodType | 'binary' | 'text'>>

type Answer<Status extends number> = Readonly<{
  status: Status
  description: string
  body: Body
  headers: readonly string[]
}>

/** One of the eight documented endpoints. */
export type Operation = Readonly<{
  id: string
  method: 'get' | 'post'
  path: string
  summary: string
  /** Names of security schemes; any of them. */
  security: readonly string[]
  parameters?: z.ZodObject
  request?: Body
  success: Answer<200 | 202>
  /** Answers to a browser that opens the address. */
  pages?: readonly Answer<303 | 409>[]
  refusals: readonly RefusalCode[]
  /** The form of a refusal. */
  refusal: Body
}>

const asProblem: Body = { 'application/problem+json': problem }

const ofEvery = [
  'method_not_allowed',
  'rate_limited',
  'overloaded',
  'unavailable',
] as const satisfies readonly RefusalCode[]
const ofKeys = [
  'missing_credential',
  'invalid_credential',
  'revoked_credential',
  'wrong_key_kind',
] as const satisfies readonly RefusalCode[]
const ofIngest = [
  ...ofEvery,
  ...ofKeys,
  'invalid_body',
  'invalid_request',
  'body_timeout',
  'payload_too_large',
  'unsupported_media_type',
  'unsupported_encoding',
] as const satisfies readonly RefusalCode[]
const ofQueries = [
  ...ofEvery,
  'invalid_parameter',
  'unknown_parameter',
  'query_syntax',
  'query_too_broad',
  'entitlement_required',
] as const satisfies readonly RefusalCode[]
const ofCursors = ['invalid_cursor', 'cursor_mismatch'] as const satisfies readonly RefusalCode[]

const ingest: readonly Operation[] = [
  {
    id: 'ingestRum',
    method: 'post',
    path: '/api/rum/v1/ingest',
    summary: 'Takes browser events, logs, exceptions and spans',
    security: ['publishableKey', 'publishableKeyInQuery'],
    request: { 'application/json': rumBody, 'text/plain': rumBody },
    success: {
      status: 202,
      description: 'Durable. Parts may have been refused.',
      body: { 'application/json': rumIngestAnswer },
      headers: ['Throughline-Position', 'X-Faro-Session-Status'],
    },
    refusals: [...ofIngest, 'secret_key_in_browser', 'origin_not_allowed'],
    refusal: asProblem,
  },
  {
    id: 'ingestLogs',
    method: 'post',
    path: '/api/logs/v1/ingest',
    summary: 'Takes structured logs',
    security: ['logsToken'],
    request: {
      'application/json': logBody,
      'application/x-ndjson': 'text',
      'application/jsonl': 'text',
      'application/stream+json': 'text',
      'application/msgpack': 'binary',
      'application/x-msgpack': 'binary',
      'text/plain': 'text',
      'application/x-www-form-urlencoded': 'text',
    },
    success: {
      status: 200,
      description: 'Durable. Single records may have been refused; a body of which every record was is 400.',
      body: { 'application/json': logIngestAnswer },
      headers: ['Throughline-Position'],
    },
    refusals: [...ofIngest, 'secret_in_browser', 'entitlement_required'],
    // Senders of OTLP, which is not taken here, show only a `google.rpc.Status` in the encoding that they sent.
    refusal: { ...asProblem, 'application/json': logIngestAnswer, 'application/x-protobuf': 'binary' },
  },
  {
    id: 'ingestTraces',
    method: 'post',
    path: '/api/traces/v1/otlp',
    summary: 'Takes spans over OTLP/HTTP',
    security: ['tracingToken'],
    request: { 'application/x-protobuf': 'binary', 'application/json': otlpBody },
    success: {
      status: 200,
      description: 'Durable. Spans may have been rejected: see `partialSuccess`.',
      body: { 'application/x-protobuf': 'binary', 'application/json': otlpAnswer },
      headers: ['Throughline-Position'],
    },
    refusals: [...ofIngest, 'secret_in_browser', 'entitlement_required'],
    refusal: { 'application/x-protobuf': 'binary', 'application/json': rpcStatus },
  },
]

/** Read by what wraps the pages. */
const shownIn = z.string().optional().meta({
  description:
    'The workspace that the page with this link showed. It is compared with that of the session, which alone is exported: another one is refused.',
})

const queries: readonly Operation[] = [
  {
    id: 'searchTraces',
    method: 'get',
    path: '/api/app/traces/search',
    summary: 'Finds traces',
    security: ['session'],
    parameters: traceSearchParameters,
    success: {
      status: 200,
      description: 'A page of traces.',
      body: { 'application/json': traceSearchAnswer },
      headers: [],
    },
    refusals: [...ofQueries, ...ofCursors, 'not_signed_in'],
    refusal: asProblem,
  },
  {
    id: 'correlate',
    method: 'get',
    path: '/api/app/correlation',
    summary: 'Finds what shares an identifier with the one given',
    security: ['session'],
    parameters: correlationParameters,
    success: {
      status: 200,
      description: 'The trace, its spans, logs, browser events and sessions.',
      body: { 'application/json': correlationAnswer },
      headers: [],
    },
    refusals: [...ofEvery, ...ofCursors, 'invalid_parameter', 'unknown_parameter', 'not_signed_in', 'not_found'],
    refusal: asProblem,
  },
  {
    id: 'searchLogs',
    method: 'get',
    path: '/api/app/logs/search',
    summary: 'Finds log records',
    security: ['session'],
    parameters: logSearchParameters,
    success: {
      status: 200,
      description: 'A page of log records.',
      body: { 'application/json': logSearchAnswer },
      headers: [],
    },
    refusals: [...ofQueries, ...ofCursors, 'not_signed_in', 'not_found'],
    refusal: asProblem,
  },
  {
    id: 'exportLogs',
    method: 'get',
    path: '/app/logs/export',
    summary: 'Exports every log record that is found',
    security: ['session'],
    parameters: logExportParameters.extend({ shown_in: shownIn }),
    success: {
      status: 200,
      description: 'One snapshot, streamed. A body that was not ended properly is not the whole of it.',
      body: { [exportContentTypes.ndjson]: 'text', [exportContentTypes.csv]: 'text' },
      headers: ['Content-Disposition', 'X-Export-Matched', 'X-Query-Normalized'],
    },
    pages: [
      {
        status: 303,
        description: 'To sign-in; or to the same address with `shown_in`, for who has several workspaces.',
        body: { 'text/plain; charset=utf-8': 'text' },
        headers: ['Location'],
      },
      {
        status: 409,
        description: '`shown_in` is another workspace than that of the session: the ways on. Nothing is exported.',
        body: { 'text/html; charset=utf-8': 'text' },
        headers: [],
      },
    ],
    refusals: [...ofQueries, 'not_signed_in', 'forbidden'],
    refusal: asProblem,
  },
  {
    id: 'listTraces',
    method: 'get',
    path: '/api/v1/traces',
    summary: 'Lists traces',
    security: ['apiKey'],
    parameters: traceListingParameters,
    success: {
      status: 200,
      description: 'A page of traces.',
      body: { 'application/json': traceListingAnswer },
      headers: ['RateLimit', 'RateLimit-Policy'],
    },
    refusals: [...ofQueries, ...ofCursors, ...ofKeys, 'secret_in_browser'],
    refusal: asProblem,
  },
]

/** The whole documented API. */
export const operations: readonly Operation[] = [...ingest, ...queries]
