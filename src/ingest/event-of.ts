import { createHash, hash } from 'node:crypto'
import type { Context } from 'koa'
import { sealEvent, sealGzip, sealLargeEvent } from '#src/events/codec.ts'
import {
  besideId,
  noCounts,
  type Counts,
  type EventHeader,
  type EventId,
  type NewEvent,
  type TelemetryEventType,
} from '#src/events/envelope.ts'
import { refusal, type Refusal } from '#src/events/refusal.ts'
import { retentionClassOf } from '#src/events/retention.ts'
import type { RefusedSpan } from '#src/events/telemetry.ts'
import { currentSchemaVersion } from '#src/events/upcast.ts'
import type { Body } from '#src/http/body.ts'
import { fail, ok, type Result } from '#src/lib/result.ts'
import { stringifyJson } from '#src/lib/json.ts'
import type { Credential, Surface } from './credential.ts'

/** Larger payloads are compressed in the thread pool: compressing them here would block the event loop for more than a millisecond. */
const sealedHereBytesMax = 512 * 1024

/** What the answer to a request says beyond full success; stored with its event, so that a retry gets the same answer. */
type StoredAnswer = string | undefined

/** A request about to become events. */
export type Receipt = Readonly<{ credential: Credential; id: EventId; identified: boolean; receivedAt: number }>

export function readIdempotencyKey(ctx: Context, charactersMax: number): Result<string, Refusal> {
  const key = ctx.get('Idempotency-Key')
  if (key.length <= charactersMax) return ok(key)
  return fail(refusal('invalid_request', `An Idempotency-Key has at most ${charactersMax} characters.`))
}

/**
 * The id of a request's event: by workspace, route, Idempotency-Key and decoded body, so that a retry has the same one and no
 * two workspaces can share one. 128 bits of SHA-256.
 */
export function requestEventId(
  workspaceId: string,
  surface: Surface,
  idempotencyKey: string,
  body: Uint8Array,
): EventId {
  const digest =
    idempotencyKey === ''
      ? hash('sha256', body, 'hex')
      : createHash('sha256').update(`${idempotencyKey.length}:${idempotencyKey}\n`).update(body).digest('hex')
  return `${workspaceId}.${surface}.${digest.slice(0, 32)}`
}

function headerOf(receipt: Receipt, type: TelemetryEventType, counts: Partial<Counts>, answer: StoredAnswer) {
  const { credential, id, identified, receivedAt } = receipt
  return {
    id,
    type,
    schemaVersion: currentSchemaVersion(type),
    workspaceId: credential.workspaceId,
    keyId: credential.keyId,
    receivedAt,
    retentionClass: retentionClassOf(credential.workspace.plan.retentionDays),
    identified,
    counts: { ...noCounts, ...counts },
    ...(answer === undefined ? {} : { answer }),
  } satisfies Partial<EventHeader>
}

type Accepted = Readonly<{
  type: TelemetryEventType
  counts: Partial<Counts>
  contentType: string
  payload: Uint8Array
  answer: StoredAnswer
}>

/** The event of what was accepted. A gzipped body that is stored whole keeps its sender's compression. */
export async function receivedEvent(receipt: Receipt, accepted: Accepted, { bytes, gzip }: Body): Promise<NewEvent> {
  const { type, counts, contentType, payload, answer } = accepted
  const fields = { ...headerOf(receipt, type, { ...counts, bytes: payload.length }, answer), contentType }
  if (payload === bytes && gzip !== undefined && gzip.length < bytes.length) return sealGzip(fields, gzip)
  return payload.length > sealedHereBytesMax ? sealLargeEvent(fields, payload) : sealEvent(fields, payload)
}

type RefusedOptions = Readonly<{ spansMax: number; answer?: StoredAnswer; unlisted?: number }>

/**
 * The event that records refused spans, for a request of which nothing else is stored; it has the request's own id. `unlisted`: how many more spans
 * were refused, whose ids are not listed.
 */
export function refusedEvent(
  receipt: Receipt,
  refused: readonly RefusedSpan[],
  { spansMax, answer, unlisted = 0 }: RefusedOptions,
): NewEvent {
  const spans = refused.slice(0, spansMax).map(({ traceId, spanId, reason }) => [traceId, spanId, reason])
  const payload = Buffer.from(stringifyJson({ spans }))
  const fields = headerOf(
    receipt,
    'spans.refused',
    { refused: refused.length + unlisted, bytes: payload.length },
    answer,
  )
  return sealEvent({ ...fields, contentType: 'application/json' }, payload)
}

/** The same for a request that has its own event, which holds the answer. */
export const refusedBeside = (
  receipt: Receipt,
  refused: readonly RefusedSpan[],
  options: Omit<RefusedOptions, 'answer'>,
): NewEvent => refusedEvent({ ...receipt, id: besideId(receipt.id) }, refused, options)

const nothingOf = { logs: '[]', rum: '{"events":[]}' } as const

/** `beside`: the id of the request's own event, if it has one; otherwise the id is made from the body. */
type RefusedWhole = Readonly<{
  surface: keyof typeof nothingOf
  refused: number
  beside?: EventId
  answer?: StoredAnswer
}>

/**
 * The event that counts the records or browser events of a body that was refused whole. Its id is made from the body, so that retries
 * count once; it is not the request's own id, because a retry may be accepted later, under another plan or other limits.
 */
export function countedEvent(receipt: Receipt, body: Body, whole: RefusedWhole): Promise<NewEvent> {
  const { surface, refused, beside, answer } = whole
  const id = besideId(beside ?? requestEventId(receipt.credential.workspaceId, surface, '', body.bytes))
  const payload = Buffer.from(nothingOf[surface])
  const counted = { counts: { refused }, contentType: 'application/json', payload, answer }
  return receivedEvent({ ...receipt, id, identified: true }, { type: `${surface}.received`, ...counted }, body)
}
