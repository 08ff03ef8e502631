import { ConflictError, type Expected, type Stream } from '#streams/stream.ts'
import { reservationSubject } from '#src/events/allowance.ts'
import { beforeAll, besideId, type EventHeader, type NewEvent, type Position } from '#src/events/envelope.ts'
import { refusal, type Refusal } from '#src/events/refusal.ts'
import { present } from '#src/lib/assert.ts'
import type { Clock } from '#src/lib/clock.ts'
import { TransientError } from '#src/lib/failure.ts'
import { fail, ok, type Result } from '#src/lib/result.ts'
import { nothingGranted, type AllowanceGate, type Grant, type SpansAsked } from './allowance.ts'
import type { Credential } from './credential.ts'
import type { Receipt } from './event-of.ts'
import type { Renew } from './renew.ts'

/** Where a request's events are in the log. `repeated`: this request was a retry; the header of the first one's event. */
type Recorded = Readonly<{ position: Position; repeated?: EventHeader }>
/** `grant`: spans of the allowance that the request was stored with. `position` undefined: there was nothing to store. */
type RecordedSpans = Readonly<{ grant: Grant; position: Position | undefined; repeated?: EventHeader }>

type SpansOfRequest = Readonly<{ valid: number; isPartial: boolean }> & Pick<SpansAsked, 'isSilent'>
/** Makes the events of a request that has been granted so many spans; none when there is nothing to store. */
type MakeEvents = (grant: Grant) => Promise<readonly NewEvent[]>

export type Recorder = Readonly<{
  /** The partition of the log that it writes to, as acknowledgements name it. */
  partition: Stream['partition']
  /** Makes and appends the event of a request without spans; resolves when it is durable. Rejects as `recordSpans` does. */
  record(make: () => Promise<NewEvent>): Promise<Recorded>
  /**
   * Takes spans from the allowance, makes the events of one request and appends them; resolves when they are durable. A request that
   * may not be stored whole, because spans are short or because it `isPartial` itself, is first looked up in the log: a retry gets the
   * answer of the first, whatever allowance is left now. Rejects with the log's failure: the outcome is unknown then, and the spans stay
   * held until it is known.
   */
  recordSpans(receipt: Receipt, spans: SpansOfRequest, make: MakeEvents): Promise<Result<RecordedSpans, Refusal>>
}>

/** How many times one request may find its reservation closed by another process, which happens when this one was suspended. */
const attemptsMax = 5

const heldByOthers = refusal(
  'unavailable',
  'The rest of the monthly span allowance is held by requests that are not decided yet; send this one again.',
  { retryAfterS: 1 },
)

/**
 * The most time from a request's receipt to its append, in ms. After a suspension, a process goes on with requests that their senders have repeated
 * meanwhile. If such an event were older than the log's window (`repeatWindowMs`), it would not be recognised as the same request.
 */
const heldMsMax = 15 * 60_000

/** `isRenewed`: whether the plan was refreshed from the head of the log, instead of taken as this process last knew it. */
type Plan = Readonly<{ credential: Credential; isRenewed: boolean }>
/** Granted spans; or the outcome of an earlier copy of the request; or a refreshed plan, to ask again by. */
type Reserved = Readonly<{ grant: Grant }> | Readonly<{ earlier: RecordedSpans }> | Readonly<{ plan: Plan }>
type RecorderOptions = Readonly<{ stream: Stream; gate: AllowanceGate; renew: Renew; clock: Clock }>

type FindEarlier = (receipt: Receipt) => Promise<RecordedSpans | undefined>

/** The outcome of the first copy of a request. The position is that of its last event, which its sender was given to wait for. */
const createFindEarlier =
  ({ stream }: RecorderOptions): FindEarlier =>
  async ({ id, receivedAt }) => {
    const found = await stream.find([id, besideId(id)], receivedAt)
    const earlier = found.get(id)
    if (earlier === undefined) return undefined
    const position = Math.max(earlier.position, found.get(besideId(id))?.position ?? beforeAll)
    return { grant: nothingGranted(0, null), position, repeated: earlier }
  }

/** Takes spans from the ledger, for requests that may be retries, or for which this process does not hold enough spans. */
function createReserve({ gate, renew }: RecorderOptions, findEarlier: FindEarlier) {
  /** Grants less than asked only by the plan as it is in the log at this moment: senders do not retry what is rejected. */
  return async (receipt: Receipt, asked: SpansAsked, plan: Plan): Promise<Result<Reserved, Refusal>> => {
    const earlier = await findEarlier(receipt)
    if (earlier !== undefined) return ok({ earlier })
    const reserved = gate.take(asked) ?? (await gate.reserve(asked))
    if (reserved === 'pending') return fail(heldByOthers)
    if (reserved.granted >= asked.spans) return ok({ grant: reserved })
    // Less than asked is granted only when no request holds spans any more. So an earlier copy of this request has its outcome by now.
    const first = await findEarlier(receipt).catch((error: unknown) => {
      gate.release(reserved)
      throw error
    })
    const renewed = first === undefined && !plan.isRenewed ? await renew(plan.credential) : ok(plan.credential)
    const isBySamePlan = renewed.ok && renewed.value.workspace.plan.spansPerMonth === asked.limit
    if (first === undefined && isBySamePlan) return ok({ grant: reserved })
    gate.release(reserved)
    if (first !== undefined) return ok({ earlier: first })
    return renewed.ok ? ok({ plan: { credential: renewed.value, isRenewed: true } }) : renewed
  }
}

function checkHeld(events: readonly NewEvent[], now: number): void {
  if (events.every(({ receivedAt }) => now - receivedAt <= heldMsMax)) return
  const hint = 'it was held for too long; send it again'
  throw new TransientError({ operation: 'store', subject: 'a request', hint })
}

const createAppend =
  ({ stream }: RecorderOptions) =>
  async (events: readonly NewEvent[], expected?: Expected): Promise<Recorded> => {
    const { events: appended, last } = await stream.append(events, expected)
    const { position, repeated } = present(appended[0], 'each event has its place')
    return repeated === undefined ? { position: last } : { position, repeated }
  }

export function createRecorder(options: RecorderOptions): Recorder {
  const { stream, gate, clock } = options
  const findEarlier = createFindEarlier(options)
  const reserve = createReserve(options, findEarlier)
  const append = createAppend(options)

  /** Makes and appends the events of a grant, and settles it. Undefined: the reservation was closed, so the log refused the append. */
  const spend = async (
    { id, credential }: Receipt,
    grant: Grant,
    make: MakeEvents,
  ): Promise<RecordedSpans | undefined> => {
    let isUnknown = false
    try {
      const events = await make(grant)
      checkHeld(events, clock())
      if (events.length === 0) {
        gate.release(grant)
        return { grant, position: undefined }
      }
      isUnknown = true
      const { reservation } = grant
      const spent = events.map((event) => (event.counts.spans > 0 ? { ...event, reservation } : event))
      const subject = reservationSubject(credential.workspaceId, reservation)
      const recorded = await append(spent, reservation === '' ? undefined : { subject, position: beforeAll })
      const under = recorded.repeated === undefined ? reservation : recorded.repeated.reservation
      // A repeat under the same reservation (a copy of the request, or a retry inside the adapter) still counts once.
      if (under === reservation) gate.settle(grant, id)
      else gate.release(grant)
      return { grant, ...recorded }
    } catch (error) {
      if (isUnknown) gate.doubt(grant)
      else gate.release(grant)
      if (error instanceof ConflictError) return undefined
      throw error
    }
  }

  return {
    partition: stream.partition,
    record: async (make) => {
      const events = [await make()]
      checkHeld(events, clock())
      return append(events)
    },
    recordSpans: async (receipt, { valid, isPartial, isSilent = false }, make) => {
      const { credential, receivedAt } = receipt
      const asking = { workspaceId: credential.workspaceId, spans: valid, at: receivedAt, isSilent }
      let plan: Plan = { credential, isRenewed: false }
      for (let attempt = 0; attempt < attemptsMax; attempt++) {
        const asked = { ...asking, limit: plan.credential.workspace.plan.spansPerMonth }
        let grant = isPartial ? undefined : gate.take(asked)
        if (grant === undefined) {
          const reserved = await reserve(receipt, asked, plan)
          if (!reserved.ok) return reserved
          if ('earlier' in reserved.value) return ok(reserved.value.earlier)
          if ('plan' in reserved.value) {
            plan = reserved.value.plan
            continue
          }
          grant = reserved.value.grant
        }
        const recorded = await spend(receipt, grant, make)
        if (recorded === undefined) continue
        // The first copy may have had spans refused that this one was granted: its answer counts.
        const first = recorded.repeated?.answer === undefined ? undefined : await findEarlier(receipt)
        return ok(first ?? recorded)
      }
      return fail(heldByOthers)
    },
  }
}
