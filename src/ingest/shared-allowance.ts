import { TransientError } from '#src/lib/failure.ts'
import type { AllowanceGate, Grant, SpansAsked } from './allowance.ts'

/** One process asks another's gate, in messages that can be cloned or written as JSON. */
export type AllowanceCall =
  | Readonly<{ kind: 'reserve'; call: number; asked: SpansAsked }>
  | Readonly<{ kind: 'settle' | 'release' | 'doubt'; reservation: string }>
export type AllowanceAnswer = Readonly<{ call: number; grant: Grant | 'pending' } | { call: number; failure: string }>

export type ForwardedAllowance = Readonly<{ gate: AllowanceGate; answer(answer: AllowanceAnswer): void }>

/**
 * The gate of another process. Messages must arrive in the order in which they were sent, or not at all when that process is
 * gone; what is not answered then is for the caller to ask elsewhere.
 */
export function createForwardedAllowance(send: (call: AllowanceCall) => void): ForwardedAllowance {
  const asking = new Map<number, { resolve: (grant: Grant | 'pending') => void; reject: (error: Error) => void }>()
  let calls = 0
  return {
    gate: {
      reserve: (asked) =>
        new Promise((resolve, reject) => {
          const call = ++calls
          asking.set(call, { resolve, reject })
          send({ kind: 'reserve', call, asked })
        }),
      // Nobody waits for these: they only make room for others.
      settle: async (reservation) => send({ kind: 'settle', reservation }),
      release: async (reservation) => send({ kind: 'release', reservation }),
      doubt: async (reservation) => send({ kind: 'doubt', reservation }),
    },
    answer: (answer) => {
      const request = asking.get(answer.call)
      asking.delete(answer.call)
      if ('grant' in answer) request?.resolve(answer.grant)
      else request?.reject(new TransientError({ operation: answer.failure, subject: '' }))
    },
  }
}

export type AllowanceService = Readonly<{
  serve(client: number, call: AllowanceCall): void
  /** The client has ended: whether what it held for is in the log is for the gate to find out. */
  forget(client: number): void
}>

export type AllowanceServiceOptions = Readonly<{
  gate: AllowanceGate
  send: (client: number, answer: AllowanceAnswer) => void
  /** A reservation that could not be ended. */
  report: (error: unknown) => void
}>

/** Answers the calls of other processes, each known by a number, from one gate. */
export function createAllowanceService({ gate, send, report }: AllowanceServiceOptions): AllowanceService {
  const held = new Map<number, Set<string>>()
  const gone = new Set<number>()

  const reserve = async (client: number, call: number, asked: SpansAsked): Promise<void> => {
    try {
      const grant = await gate.reserve(asked)
      const reservation = grant === 'pending' ? '' : grant.reservation
      if (gone.has(client)) return reservation === '' ? undefined : await gate.release(reservation)
      if (reservation !== '') held.set(client, (held.get(client) ?? new Set()).add(reservation))
      send(client, { call, grant })
    } catch (error) {
      send(client, { call, failure: error instanceof Error ? error.message : String(error) })
    }
  }

  return {
    serve: (client, call) => {
      if (call.kind === 'reserve') void reserve(client, call.call, call.asked)
      else {
        held.get(client)?.delete(call.reservation)
        gate[call.kind](call.reservation).catch(report)
      }
    },
    forget: (client) => {
      gone.add(client)
      for (const reservation of held.get(client) ?? []) gate.doubt(reservation).catch(report)
      held.delete(client)
    },
  }
}
