import type { Context } from 'koa'
import type { EventHeader, NewEvent } from '#src/events/envelope.ts'
import type { Refusal } from '#src/events/refusal.ts'
import type { RefusedSpan } from '#src/events/telemetry.ts'
import type { Route } from '#src/http/route.ts'
import { scanRum, type RumScan } from '#src/wire/rum/scan.ts'
import { contentTypeOf } from './content-type.ts'
import {
  countRefused,
  countRefusedSpans,
  sendJson,
  setPosition,
  withBody,
  type IngestContext,
  type Received,
} from './context.ts'
import { allowOrigin, answerPreflight, denyOrigin } from './cors.ts'
import type { Credential } from './credential.ts'
import { cutSpans } from './cut-spans.ts'
import { countedEvent, receivedEvent, refusedBeside, refusedEvent, requestEventId } from './event-of.ts'

const path = '/api/rum/v1/ingest'

/** The parts of a body that may be kept: by the plan, and its spans by the allowance. */
type Kept = Readonly<{
  logs: number
  rumEvents: number
  spans: number
  refused: readonly RefusedSpan[]
  payload: () => Uint8Array
}>

function keep(scan: RumScan, { workspace }: Credential, granted: number): Kept {
  const { features } = workspace.plan
  const { counts } = scan
  const mayLog = features.includes('logs')
  const reason = features.includes('tracing') ? 'rejected_allowance' : 'rejected_entitlement'
  const cut = scan.spans === undefined ? undefined : cutSpans(scan.spans, granted, reason)
  return {
    logs: mayLog ? counts.logs + counts.exceptions : 0,
    rumEvents: counts.events + counts.measurements,
    spans: granted,
    refused: cut?.refused ?? [],
    payload: () => scan.cut({ logs: mayLog, exceptions: mayLog, spans: cut?.keep ?? true }),
  }
}

type Outcome = Readonly<{ kept: Kept; accepted: number; rejected: number; answer: string }>

function outcomeOf(scan: RumScan, credential: Credential, granted: number): Outcome {
  const kept = keep(scan, credential, granted)
  const accepted = kept.logs + kept.rumEvents + kept.spans
  const rejected = scan.rejected.length + scan.accepted - accepted
  return { kept, accepted, rejected, answer: JSON.stringify({ accepted, rejected }) }
}

async function eventsOf(
  { receipt, body }: Received,
  { kept, accepted, rejected, answer }: Outcome,
  spansMax: number,
): Promise<readonly NewEvent[]> {
  const { logs, rumEvents, spans, refused } = kept
  const stored = rejected === 0 ? undefined : answer
  // Refused spans are counted by the event that lists them.
  const records = rejected - refused.length
  if (accepted === 0) {
    const isAlone = refused.length === 0
    const listed = isAlone ? [] : [refusedEvent(receipt, refused, { spansMax, answer: stored })]
    if (records === 0) return listed
    const whole = {
      surface: 'rum',
      refused: records,
      answer: stored,
      ...(isAlone ? {} : { beside: receipt.id }),
    } as const
    return [...listed, await countedEvent(receipt, body, whole)]
  }
  const taken = {
    type: 'rum.received',
    counts: { logs, rumEvents, spans, refused: records },
    contentType: 'application/json',
    payload: kept.payload(),
    answer: stored,
  } as const
  const event = await receivedEvent(receipt, taken, body)
  if (refused.length === 0) return [event]
  return [event, refusedBeside(receipt, refused, { spansMax })]
}

/** What the first copy of the request was told. An answer is stored only if something was refused. */
const answerAgain = (scan: RumScan, { answer }: EventHeader): string =>
  answer ?? JSON.stringify({ accepted: scan.accepted, rejected: 0 })

function accept(ctx: Context, answer: string): undefined {
  // Faro ends a session that is called invalid; here any is as good as another.
  if (ctx.get('X-Faro-Session-Id') !== '') ctx.set('X-Faro-Session-Status', 'valid')
  sendJson(ctx, 202, answer)
}

/** Spans that may count at all: those with ids, where the plan includes tracing. */
function spansAsked({ counts }: RumScan, { workspace }: Credential): number {
  return workspace.plan.features.includes('tracing') ? counts.spans : 0
}

async function store(
  ctx: Context,
  context: IngestContext,
  received: Received,
  scan: RumScan,
): Promise<Refusal | undefined> {
  const { credential, receipt } = received
  const recorder = context.recorderOf(credential.workspaceId)
  const valid = spansAsked(scan, credential)
  const asked = { valid, isPartial: scan.spans !== undefined && scan.spans.spans > valid, isSilent: true }
  const recorded = await recorder.recordSpans(receipt, asked, ({ granted }) =>
    eventsOf(received, outcomeOf(scan, credential, granted), context.limits.refusedSpansPerEventMax),
  )
  if (!recorded.ok) return recorded.error
  const { grant, position, repeated } = recorded.value
  if (position !== undefined) setPosition(ctx, recorder, position)
  if (repeated !== undefined) return accept(ctx, answerAgain(scan, repeated))
  return accept(ctx, outcomeOf(scan, credential, grant.granted).answer)
}

/**
 * Span ids and timestamps tell one click from the next: a body that has a span, or only items with a time of their own, is the same request when it
 * comes again. Without them, and without an `Idempotency-Key`, an equal body may be the next click, as equal log lines are two.
 */
function identified({ receipt, ...received }: Received, scan: RumScan): Received {
  if (receipt.identified || !(scan.counts.spans > 0 || scan.dated())) return { receipt, ...received }
  const id = requestEventId(received.credential.workspaceId, 'rum', '', received.body.bytes)
  return { receipt: { ...receipt, id, identified: true }, ...received }
}

/** Whether the plan lacks a feature that a part of the body needs. */
function lacksFeature({ counts, spans }: RumScan, { workspace }: Credential): boolean {
  const { features } = workspace.plan
  const isWithoutLogs = counts.logs + counts.exceptions > 0 && !features.includes('logs')
  return isWithoutLogs || (spans !== undefined && !features.includes('tracing'))
}

/** Parts are refused for good, so the plan must be the newest: another process may just have changed it. */
async function storeByPlan(
  ctx: Context,
  context: IngestContext,
  received: Received,
  scan: RumScan,
): Promise<Refusal | undefined> {
  if (!lacksFeature(scan, received.credential)) return store(ctx, context, identified(received, scan), scan)
  const renewed = await context.renew(received.credential)
  if (!renewed.ok) return renewed.error
  const credential = renewed.value
  const now = { ...received, credential, receipt: { ...received.receipt, credential } }
  return store(ctx, context, identified(now, scan), scan)
}

async function ingestRum(ctx: Context, context: IngestContext): Promise<Refusal | undefined> {
  allowOrigin(ctx)
  const credential = await context.admit(ctx, 'rum')
  if (!credential.ok) {
    if (credential.error.code === 'origin_not_allowed') denyOrigin(ctx)
    return credential.error
  }
  const admitted = {
    credential: credential.value,
    surface: 'rum',
    encodings: ['gzip'],
    identifiedWithoutKey: false,
  } as const
  return withBody(ctx, context, admitted, async (received) => {
    const scan = scanRum(received.body.bytes, contentTypeOf(ctx) || undefined, context.limits)
    if (scan.ok) return storeByPlan(ctx, context, received, scan.value)
    await countRefusedWhole(context, received, scan.error)
    return scan.error
  })
}

/** Counts a body that was refused whole, under ids made from the body, so that retries count once: one id for its items and one for its spans. */
async function countRefusedWhole(
  context: IngestContext,
  received: Received,
  { records = 0, spans = 0 }: Refusal,
): Promise<void> {
  const { receipt, body, credential } = received
  if (records > 0) await countRefused(context, received, 'rum', records)
  if (spans === 0) return
  const id = `${requestEventId(credential.workspaceId, 'rum', '', body.bytes)}/spans`
  await countRefusedSpans(context, { ...receipt, id, identified: true }, spans)
}

/** POST /api/rum/v1/ingest and its preflight. */
export function createRumRoutes(context: IngestContext): readonly Route[] {
  return [
    { method: 'POST', path, auth: 'key', handler: (ctx) => ingestRum(ctx, context) },
    { method: 'OPTIONS', path, auth: 'public', handler: answerPreflight },
  ]
}
