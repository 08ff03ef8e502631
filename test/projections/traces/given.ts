import type { DecodedEvent } from '#projections/projection.ts'
import type { LogRecord, RefusalReason, RumEvent, SharedAttributes, Span } from '#src/events/telemetry.ts'
import type { JsonObject } from '#src/lib/json.ts'
import { givenEvent } from '#test/support/fold-harness.ts'
import { hex } from '#test/support/telemetry.ts'

export const traceIdOf = (name: string | number): string => hex(32, 'trace', name)
export const spanIdOf = (name: string | number): string => hex(16, 'span', name)

/** 2026-11-21T12:00:00Z. */
export const noonNs = 1_795_262_400_000_000_000n
export const msNs = 1_000_000n

function shared(kind: 'resource' | 'scope', attributes: JsonObject, name = '', version = ''): SharedAttributes {
  const hash = hex(32, kind, name, version, JSON.stringify(attributes))
  return { hash, kind, name, version, schemaUrl: '', attributes, droppedAttributesCount: 0 }
}

export type GivenSpan = Partial<Omit<Span, 'resource' | 'scope' | 'status'>> &
  Readonly<{
    trace?: string | number
    id: string | number
    parent?: string | number | null
    /** Milliseconds after noon, and how long. */
    atMs?: number
    forMs?: number
    status?: Span['status']['code']
    statusMessage?: string
    resource?: JsonObject
    scopeName?: string
  }>

/** A span of trace `t`, service `checkout`, at noon, of 10 ms, without a parent. */
export function givenSpan({ trace = 't', id, parent = null, atMs = 0, forMs = 10, ...more }: GivenSpan): Span {
  const {
    status = 'unset',
    statusMessage = '',
    resource = {},
    scopeName = 'instrumentation',
    service = 'checkout',
    ...rest
  } = more
  const startNs = noonNs + BigInt(Math.round(atMs * 1e6))
  return {
    traceId: traceIdOf(trace),
    spanId: spanIdOf(id),
    parentSpanId: parent === null ? null : spanIdOf(parent),
    traceState: '',
    flags: 1,
    name: `operation ${id}`,
    kind: 'server',
    startNs,
    endNs: startNs + BigInt(Math.round(forMs * 1e6)),
    status: { code: status, message: statusMessage },
    attributes: {},
    droppedAttributesCount: 0,
    spanEvents: [],
    droppedEventsCount: 0,
    links: [],
    droppedLinksCount: 0,
    resource: shared('resource', { 'service.name': service, ...resource }),
    scope: shared('scope', {}, scopeName, '1.0'),
    service,
    sessionId: null,
    cuts: [],
    ...rest,
  }
}

export function givenLog(log: Partial<LogRecord> & Readonly<{ trace?: string }> = {}): LogRecord {
  const { trace, ...more } = log
  return {
    ordinal: 0,
    timeNs: noonNs,
    level: 'info',
    message: 'a message',
    service: 'checkout',
    traceId: trace === undefined ? null : traceIdOf(trace),
    spanId: null,
    sessionId: null,
    source: 'logs',
    fields: {},
    cuts: [],
    ...more,
  }
}

export function givenRumEvent(event: Partial<RumEvent> & Readonly<{ trace?: string }> = {}): RumEvent {
  const { trace, ...more } = event
  return {
    ordinal: 0,
    timeNs: noonNs,
    type: 'event',
    name: 'click',
    service: 'shop',
    sessionId: null,
    traceId: trace === undefined ? null : traceIdOf(trace),
    spanId: null,
    url: null,
    fields: {},
    ...more,
  }
}

/** The `n`th event: these spans were received. */
export const received = (n: number, spans: readonly GivenSpan[], header = {}): DecodedEvent =>
  givenEvent('spans.received', n, { spans: spans.map(givenSpan) }, header)

/** The `n`th event: these spans of trace `t` were refused. */
export const refused = (
  n: number,
  ids: readonly string[],
  reason: RefusalReason = 'rejected_allowance',
): DecodedEvent =>
  givenEvent('spans.refused', n, {
    refusedSpans: ids.map((id) => ({ traceId: traceIdOf('t'), spanId: spanIdOf(id), reason })),
  })
