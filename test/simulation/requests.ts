import type { NewEvent } from '#src/events/envelope.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import { limits } from '#src/config.ts'
import type { Grant } from '#src/ingest/allowance.ts'
import { cutSpans } from '#src/ingest/cut-spans.ts'
import { receivedEvent, refusedEvent, type Receipt } from '#src/ingest/event-of.ts'
import { present } from '#src/lib/assert.ts'
import { scanLogs } from '#src/wire/logs/scan.ts'
import { scanSpans } from '#src/wire/otlp/scan.ts'
import { hex, otlpJson } from '#test/support/telemetry.ts'
import { pick, type Chance } from './simulated-index.ts'

export const workspaces = ['acme', 'other', 'third'].map(workspaceIdOf)
/** One that is erased, where the scenario has that. */
export const leaving = workspaceIdOf('leaving')

/** A request as its sender made it. `records`: span ids, or messages, that are in no other request. */
export type Request = Readonly<{
  name: string
  workspace: string
  kind: 'spans' | 'keyed logs' | 'logs'
  body: Uint8Array
  records: readonly string[]
}>

const tracesOfWorkspace = 4
const baseNs = BigInt(Date.UTC(2026, 10, 21, 11)) * 1_000_000n

/** Spans of traces that other requests add to, whose parents may come before, after, or never. */
function spansOf(name: string, workspace: string, count: number, { below }: Chance): Pick<Request, 'body' | 'records'> {
  const records = Array.from({ length: count }, (_, n) => hex(16, name, n))
  // One of them: a request then holds its spans in this order, and is cut in it.
  const service = `service-${below(2)}`
  const spans = records.map((spanId, n) => ({
    traceId: hex(32, workspace, below(tracesOfWorkspace)),
    spanId,
    ...(below(3) === 0 ? {} : { parentSpanId: records[below(n + 1)] ?? hex(16, 'elsewhere', below(9)) }),
    name: `step ${below(3)}`,
    service,
    startNs: baseNs + BigInt(below(3_600_000)) * 1_000_000n,
    durationNs: BigInt(1 + below(1_000)),
    ...(below(5) === 0 ? { status: 'error' as const } : {}),
    ...(below(2) === 0 ? { attributes: { 'session.id': `session-${below(3)}` } } : {}),
  }))
  return { body: Buffer.from(otlpJson(spans)), records }
}

function logsOf(name: string, workspace: string, count: number, { below }: Chance): Pick<Request, 'body' | 'records'> {
  const records = Array.from({ length: count }, (_, n) => `${name} line ${n}`)
  const lines = records.map((message) => ({
    message,
    level: ['info', 'warn', 'error'][below(3)],
    ...(below(4) === 0 ? {} : { timestamp: Date.UTC(2026, 10, 21, 11) + below(3_600_000) }),
    ...(below(2) === 0 ? { trace_id: hex(32, workspace, below(tracesOfWorkspace)) } : {}),
    ...(below(2) === 0 ? { session_id: `session-${below(3)}` } : {}),
  }))
  return { body: Buffer.from(JSON.stringify(lines)), records }
}

export function makeRequest(name: string, recordsMax: number, chance: Chance, from: readonly string[]): Request {
  const workspace = pick(from, chance) as string
  const kind = (['spans', 'spans', 'keyed logs', 'logs'] as const)[chance.below(4)] ?? 'spans'
  const make = kind === 'spans' ? spansOf : logsOf
  return { name, workspace, kind, ...make(name, workspace, 1 + chance.below(recordsMax), chance) }
}

/** The events of a request of spans that was granted so many, as the OTLP route makes them. The answer is how many were taken. */
export async function spanEvents(
  { body }: Request,
  receipt: Receipt,
  { granted }: Grant,
): Promise<readonly NewEvent[]> {
  const scan = scanSpans(body, 'application/json', limits)
  if (!scan.ok) throw new Error(scan.error.detail)
  const answer = String(granted)
  const accepted = {
    type: 'spans.received',
    counts: { spans: granted },
    contentType: 'application/json',
    answer,
  } as const
  if (granted === scan.value.spans)
    return [await receivedEvent(receipt, { ...accepted, payload: body }, { bytes: body })]
  const { keep, refused } = cutSpans(scan.value, granted)
  const spansMax = limits.refusedSpansPerEventMax
  if (granted === 0) return [refusedEvent(receipt, refused, { spansMax, answer })]
  const beside = { ...receipt, id: `${receipt.id}/refused` }
  return [
    await receivedEvent(receipt, { ...accepted, payload: scan.value.cut(keep) }, { bytes: body }),
    refusedEvent(beside, refused, { spansMax, answer: undefined }),
  ]
}

/** The event of a request of logs, as the logs route makes it. */
export async function logEvent({ body }: Request, receipt: Receipt): Promise<NewEvent> {
  const scan = scanLogs(body, 'application/json', limits)
  if (!scan.ok) throw new Error(scan.error.detail)
  const { records, contentType, payload } = scan.value
  const taken = { type: 'logs.received', counts: { logs: records }, contentType, payload, answer: undefined } as const
  return present(await receivedEvent(receipt, taken, { bytes: body }), 'an event')
}
