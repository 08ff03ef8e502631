import { ConflictError, type Stream } from '#streams/stream.ts'
import type { EventHeader, NewEvent, Position } from '#src/events/envelope.ts'
import { refusal, type Refusal } from '#src/events/refusal.ts'
import { present } from '#src/lib/assert.ts'
import { fail, ok, type Result } from '#src/lib/result.ts'
import type { AllowanceGate, Grant } from './allowance.ts'
import type { Receipt } from './event-of.ts'

/** Where a request's events are in the log. `repeated`: the header of the first, when this was the same request again. */
export type Recorded = Readonly<{ position: Position; repeated?: EventHeader }>

export type Earlier = Required<Recorded>

/** What the allowance says to a request: spans granted, or that it has been answered before. */
export type Decision = Readonly<{ grant: Grant }> | Readonly<{ earlier: Earlier }>

export type RequestEvents = readonly [NewEvent, ...NewEvent[]]

export type Recorder = Readonly<{
  /** Of the log that it writes to, as acks name it. */
  partition: Stream['partition']
  /**
   * Takes spans from the allowance. A request that cannot be stored whole, for lack of it or because it `isPartial` by itself,
   * is first looked for in the log: a retry is answered as the first was.
   */
  decide(receipt: Receipt, spans: Readonly<{ valid: number; isPartial: boolean }>): Promise<Result<Decision, Refusal>>
  /**
   * Makes and appends the events of one request; resolves when they are durable, and keeps or gives back what was reserved
   * for it. Rejects with the log's failure: the outcome is unknown then, and the reservation stays.
   */
  record(make: () => Promise<RequestEvents>, reservation?: string): Promise<Recorded>
}>

const heldByOthers = refusal(
  'unavailable',
  'The rest of the monthly span allowance is held by requests whose outcome is not known yet; send this one again.',
  { retryAfterS: 1 },
)

export function createRecorder({ stream, gate }: Readonly<{ stream: Stream; gate: AllowanceGate }>): Recorder {
  const findEarlier = async ({ id, receivedAt }: Receipt): Promise<Earlier | undefined> => {
    const earlier = (await stream.find([id], receivedAt)).get(id)
    return earlier === undefined ? undefined : { position: earlier.position, repeated: earlier }
  }

  const make = async (events: () => Promise<RequestEvents>, reservation: string): Promise<RequestEvents> => {
    try {
      return await events()
    } catch (error) {
      await gate.release(reservation)
      throw error
    }
  }

  const append = async (events: RequestEvents, reservation: string): Promise<Recorded> => {
    try {
      const { events: appended, last } = await stream.append(events)
      const { position, repeated } = present(appended[0], 'each event has its place')
      return repeated === undefined ? { position: last } : { position, repeated }
    } catch (error) {
      await (error instanceof ConflictError ? gate.release(reservation) : gate.doubt(reservation))
      throw error
    }
  }

  return {
    partition: stream.partition,
    decide: async (receipt, { valid, isPartial }) => {
      const { credential, id, receivedAt } = receipt
      const { workspaceId, workspace } = credential
      const limit = workspace.plan.spansPerMonth
      const grant = await gate.reserve({ workspaceId, eventId: id, spans: valid, limit, at: receivedAt })
      const isWhole = !isPartial && grant !== 'pending' && grant.granted === valid
      if (isWhole) return ok({ grant })
      const earlier = await findEarlier(receipt).catch(async (error: unknown) => {
        if (grant !== 'pending') await gate.release(grant.reservation)
        throw error
      })
      if (earlier === undefined) return grant === 'pending' ? fail(heldByOthers) : ok({ grant })
      if (grant !== 'pending') await gate.release(grant.reservation)
      return ok({ earlier })
    },
    record: async (events, reservation = '') => {
      const recorded = await append(await make(events, reservation), reservation)
      if (recorded.repeated === undefined) await gate.settle(reservation)
      else await gate.release(reservation)
      return recorded
    },
  }
}
