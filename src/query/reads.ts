import type { Context } from 'koa'
import type { Limits } from '#src/config.ts'
import { refusal, type Refusal } from '#src/events/refusal.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import { breakOffUnread, goneSignal, sendInPieces } from '#src/http/sending.ts'
import { abortScope } from '#src/lib/abort-scope.ts'
import { createFairGate, type FairGate, type Full } from '#src/lib/fair-gate.ts'

type Answer = () => Promise<Refusal | void>
/** Answers a request when it is its turn, or refuses it. `answer` sets the body, which counts against the gate until it has been sent. */
type Read = (ctx: Context, workspaceId: WorkspaceId, answer: Answer) => Promise<Refusal | void>

/** The gates that all reads of a process pass: by the API, the pages, and the export. */
export type Reads = Readonly<{ query: Read; export: Read }>

type Kind = Readonly<{ gate: FairGate; size: number; refused: Readonly<Record<Full, Refusal>> }>

const refusals = (noun: string, retryAfterS: number): Kind['refused'] => ({
  owner: refusal('rate_limited', `This workspace has too many ${noun} under way at once.`, { retryAfterS }),
  all: refusal('overloaded', `Too many ${noun} are under way at once. Send it again.`),
})

export function createReads(limits: Limits): Reads {
  const queries: Kind = {
    gate: createFairGate({
      perOwnerMax: limits.queriesPerWorkspaceAtOnce,
      sizeMax: limits.answersInFlightBytesMax,
      waitingPerOwnerMax: limits.queriesPerWorkspaceWaiting,
      waitMs: limits.queryWaitMs,
    }),
    size: limits.queryBytes,
    refused: refusals('queries', 1),
  }
  // Exports have a gate of their own: they may take hours, and no query should wait for one.
  const exports: Kind = {
    gate: createFairGate({
      perOwnerMax: limits.exportsPerWorkspaceAtOnce,
      sizeMax: limits.exportsAtOnce,
      waitingPerOwnerMax: 0,
      waitMs: 0,
    }),
    size: 1,
    refused: refusals('exports', 4),
  }

  /** A request keeps its place until its answer has been sent; if its client hangs up, until the work on the answer has ended. */
  const read =
    ({ gate, size, refused }: Kind, takenBy: (ctx: Context) => number): Read =>
    async (ctx, workspaceId, answer) => {
      const gone = goneSignal(ctx.res)
      const stay = await gate.enter(workspaceId, size, gone)
      if (typeof stay === 'string') return refused[stay]
      try {
        const result = await abortScope.run(gone, answer)
        stay.takes(takenBy(ctx))
        return result
      } finally {
        breakOffUnread(ctx.res, gone, limits.answerStallMs)
        if (gone.aborted) stay.leave()
        else gone.addEventListener('abort', stay.leave)
      }
    }
  return { query: read(queries, sendInPieces), export: read(exports, () => exports.size) }
}
