import { createCountedSpans } from '#projections/allowance/counted-spans.ts'
import { limits, plans } from '#src/config.ts'
import type { WorkspacePlan } from '#src/directory/directory.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import { beginLedgers } from '#src/ingest/begin-ledgers.ts'
import { requestEventId, type Receipt } from '#src/ingest/event-of.ts'
import { createRecorder } from '#src/ingest/record.ts'
import { createReservedAllowance, type ReservedAllowance } from '#src/ingest/reserved-allowance.ts'
import { TransientError } from '#src/lib/failure.ts'
import { ok } from '#src/lib/result.ts'
import { reachReader } from './reach-index.ts'
import { logEvent, spanEvents, workspaces, type Request } from './requests.ts'
import { startMember, type Member, type Stage } from './stage.ts'

/** What a sender is told: how many of its records are stored, and where. */
export type Answer = Readonly<{ accepted: number; position: number }>

export type Ingest = Readonly<{
  member: Member
  allowance: ReservedAllowance
  /** Undefined: told to come again. */
  take(request: Request): Promise<Answer | undefined>
}>

const receiptOf = ({ newId }: Stage, request: Request, spansPerMonth: number, at: number): Receipt => {
  const workspaceId = workspaceIdOf(request.workspace)
  const plan: WorkspacePlan = { ...(plans['free'] as WorkspacePlan), spansPerMonth }
  const credential = { workspaceId, keyId: 'key-1', workspace: { plan } } as unknown as Receipt['credential']
  const identified = request.kind !== 'logs'
  const surface = request.kind === 'spans' ? 'traces' : 'logs'
  const id = identified
    ? requestEventId(workspaceId, surface, request.name, request.body)
    : `${workspaceId}.logs.${newId()}`
  return { credential, id, identified, receivedAt: at }
}

/** Tries again what fails for now. */
async function insist(member: Member, task: () => Promise<void>): Promise<void> {
  for (;;) {
    try {
      return await task()
    } catch (error) {
      if (!(error instanceof TransientError)) throw error
      await member.process.timers.pause(200)
    }
  }
}

/** A process that takes requests, as the routes of src/ingest do. */
export function startIngest(stage: Stage, name: string, spansPerMonth: number): Ingest {
  const member = startMember(stage, name)
  const { stream, clock, process, call } = member
  const ledgers = { stream, clock, holder: name, newId: stage.newId }
  const reader = reachReader(stage.index.reader, call)
  const allowance = createReservedAllowance({
    ...ledgers,
    ticks: stage.world.ticks,
    timers: process.timers,
    random: stage.chance.random,
    limits: { ...limits, reservedSpansMin: 4 },
    isGone: () => false,
    counted: createCountedSpans({
      reader: { ...stage.index.reader, ...reader },
      clock,
      leavesOut: async () => false,
    }),
    onFailure: () => undefined,
  })
  const recorder = createRecorder({ stream, gate: allowance, renew: async (credential) => ok(credential), clock })
  const began = insist(member, () => beginLedgers(ledgers)).then(() => void allowance.sweep(workspaces))
  const takeSpans = async (request: Request, receipt: Receipt): Promise<Answer | undefined> => {
    const spans = { valid: request.records.length, isPartial: false }
    const recorded = await recorder.recordSpans(receipt, spans, (grant) => spanEvents(request, receipt, grant))
    if (!recorded.ok) return undefined
    const { grant, repeated, position = 0 } = recorded.value
    return { accepted: repeated === undefined ? grant.granted : Number(repeated.answer), position }
  }
  return {
    member,
    allowance,
    async take(request) {
      await began
      const receipt = receiptOf(stage, request, spansPerMonth, clock())
      if (request.kind === 'spans') return takeSpans(request, receipt)
      const { position } = await recorder.record(() => logEvent(request, receipt))
      return { accepted: request.records.length, position }
    },
  }
}
