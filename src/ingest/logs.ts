import type { Context } from 'koa'
import type { Refusal } from '#src/events/refusal.ts'
import { encodings, noRoom } from '#src/http/decompress.ts'
import { sendProblem } from '#src/http/errors.ts'
import type { Route } from '#src/http/route.ts'
import { freeBytes } from '#src/lib/free-bytes.ts'
import { scanLogs, type LogScan } from '#src/wire/logs/scan.ts'
import { parseOtlpContentType } from '#src/wire/otlp/content-type.ts'
import { contentTypeOf } from './content-type.ts'
import { countRefused, sendJson, setPosition, withBody, type IngestContext, type Received } from './context.ts'
import { receivedEvent } from './event-of.ts'
import { refuseOtlp } from './otlp.ts'

/** `{"accepted","rejected","errors":[{"index","code","message"}]}`, the first errors only. */
function answerOf({ records, rejected }: LogScan, errorsMax: number): string {
  const errors = rejected.slice(0, errorsMax).map(({ index, code, message }) => ({ index, code, message }))
  return JSON.stringify({ accepted: records, rejected: rejected.length, errors })
}

async function store(ctx: Context, context: IngestContext, received: Received): Promise<Refusal | undefined> {
  const { body, budget, receipt, credential } = received
  const scan = scanLogs(body.bytes, contentTypeOf(ctx) || undefined, context.limits)
  if (!scan.ok) {
    if (scan.error.records !== undefined) await countRefused(context, received, 'logs', scan.error.records)
    return scan.error
  }
  const { records, rejected, contentType, payload } = scan.value
  const answer = answerOf(scan.value, context.limits.rejectionsListedMax)
  if (records === 0) {
    if (rejected.length > 0) await countRefused(context, received, 'logs', rejected.length)
    sendJson(ctx, rejected.length === 0 ? 200 : 400, answer)
    return undefined
  }
  const parts = {
    type: 'logs.received',
    counts: { logs: records, refused: rejected.length },
    contentType,
    payload,
    answer: rejected.length === 0 ? undefined : answer,
  } as const
  // The stored payload may be larger than the body: members beside a list of records are copied into each of them.
  const more = Math.max(0, payload.length - body.bytes.length)
  if (!budget.take(more)) {
    freeBytes(payload)
    return noRoom
  }
  const recorder = context.recorderOf(credential.workspaceId)
  const recording = recorder.record(() => receivedEvent(receipt, parts, body))
  const { position, repeated } = await recording.finally(() => budget.give(more))
  if (more > 0) freeBytes(payload)
  setPosition(ctx, recorder, position)
  sendJson(ctx, 200, repeated?.answer ?? answer)
  return undefined
}

async function ingestLogs(ctx: Context, context: IngestContext): Promise<Refusal | undefined> {
  const credential = await context.admit(ctx, 'logs')
  if (!credential.ok) return credential.error
  const admitted = { credential: credential.value, surface: 'logs', encodings, identifiedWithoutKey: false } as const
  return withBody(ctx, context, admitted, (received) => store(ctx, context, received))
}

/** Protobuf is not supported here, and it is OTLP: its senders (the Collector, Java) show the message only of an OTLP error. */
function refuse(ctx: Context, refused: Refusal): void {
  const isOtlp = parseOtlpContentType(contentTypeOf(ctx)) === 'application/x-protobuf'
  return isOtlp ? refuseOtlp(ctx, refused) : sendProblem(ctx, refused)
}

/** POST /api/logs/v1/ingest. */
export function createLogsRoutes(context: IngestContext): readonly Route[] {
  const handler = (ctx: Context): Promise<Refusal | undefined> => ingestLogs(ctx, context)
  return [{ method: 'POST', path: '/api/logs/v1/ingest', auth: 'key', handler, refuse }]
}
