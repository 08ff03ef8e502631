import type { Context } from 'koa'
import type { Limits } from '#src/config.ts'
import type { Position } from '#src/events/envelope.ts'
import type { PartitionOf } from '#src/events/partition.ts'
import type { Refusal } from '#src/events/refusal.ts'
import { useBody, type Body, type BodyBudget, type SharedBodyBudget } from '#src/http/body.ts'
import type { Encoding } from '#src/http/decompress.ts'
import type { Clock } from '#src/lib/clock.ts'
import { freeBytes } from '#src/lib/free-bytes.ts'
import { possibleTime } from '#src/lib/possible-clock.ts'
import type { Admission } from './admission.ts'
import type { Credential, Surface } from './credential.ts'
import { countedEvent, readIdempotencyKey, refusedBeside, requestEventId, type Receipt } from './event-of.ts'
import type { Recorder } from './record.ts'
import type { Renew } from './renew.ts'

/** What the three ingest endpoints share. */
export type IngestContext = Readonly<{
  admit: Admission
  recorderOf: PartitionOf<Recorder>
  renew: Renew
  limits: Limits
  budget: SharedBodyBudget
  /** Throws TransientError while the log has no room. */
  checkRoom: () => void
  clock: Clock
  /** 32 hex characters at random: the identity of a request that has none of its own. */
  newId: () => string
}>

/** An admitted request, with its body and its identity. `budget`: what the body is held under. */
export type Received = Readonly<{ credential: Credential; body: Body; budget: BodyBudget; receipt: Receipt }>

/** An admitted request, before its body is read. `identifiedWithoutKey`: its body tells it from others, without an `Idempotency-Key`. */
type Admitted = Readonly<{
  credential: Credential
  surface: Surface
  encodings: readonly Encoding[]
  identifiedWithoutKey: boolean
}>

/**
 * Lets `use` answer a request with its body, which gets its identity, or refuses it. The body's memory is freed when `use` is done, unless it
 * throws: after a failure a driver may still hold the bytes, to send them when its server is back.
 */
export async function withBody(
  ctx: Context,
  { limits, budget: shared, checkRoom, clock, newId }: IngestContext,
  { credential, surface, encodings, identifiedWithoutKey }: Admitted,
  use: (received: Received) => Promise<Refusal | undefined> | Refusal | undefined,
): Promise<Refusal | undefined> {
  const idempotencyKey = readIdempotencyKey(ctx, limits.idempotencyKeyCharactersMax)
  if (!idempotencyKey.ok) return idempotencyKey.error
  const { workspaceId } = credential
  const budget = shared.shareOf(workspaceId)
  const used = await useBody(ctx, { limits, encodings, budget }, async (body) => {
    checkRoom()
    const receivedAt = possibleTime(limits.clockMinMs, clock())
    const identified = identifiedWithoutKey || idempotencyKey.value !== ''
    const id = identified
      ? requestEventId(workspaceId, surface, idempotencyKey.value, body.bytes)
      : `${workspaceId}.${surface}.${newId()}`
    const refused = await use({ credential, body, budget, receipt: { credential, id, identified, receivedAt } })
    freeBytes(body.bytes)
    if (body.gzip !== undefined) freeBytes(body.gzip)
    return refused
  })
  return used.ok ? used.value : used.error
}

/** Tells the sender its position in the log, so that it can wait until its data is searchable. */
export function setPosition(ctx: Context, { partition }: Pick<Recorder, 'partition'>, position: Position): void {
  ctx.set('Throughline-Position', `${partition}/${position}`)
}

/** Answers with JSON text under the bare content type. */
export function sendJson(ctx: Context, status: number, text: string): void {
  ctx.status = status
  ctx.set('Content-Type', 'application/json')
  ctx.body = text
}

/** Counts refused records for the usage page: most senders ignore what the answer says about them. */
export async function countRefused(
  { recorderOf }: IngestContext,
  { receipt, body }: Received,
  surface: 'logs' | 'rum',
  refused: number,
): Promise<void> {
  const recorder = recorderOf(receipt.credential.workspaceId)
  await recorder.record(() => countedEvent(receipt, body, { surface, refused }))
}

/** The spans of a request that exceeds a limit are counted for the usage page too: exporters drop them. */
export async function countRefusedSpans(
  { recorderOf }: IngestContext,
  receipt: Receipt,
  unlisted: number,
): Promise<void> {
  const recorder = recorderOf(receipt.credential.workspaceId)
  await recorder.record(async () => refusedBeside(receipt, [], { spansMax: 0, unlisted }))
}
