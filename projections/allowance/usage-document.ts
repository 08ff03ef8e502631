import { monthOf } from '#src/events/allowance.ts'
import type { EventHeader, TelemetryEventType } from '#src/events/envelope.ts'
import type { RefusedSpan } from '#src/events/telemetry.ts'
import type { Collection, DecodedEvent } from '../projection.ts'
import { dayOf } from '#src/lib/day.ts'

/** How much was accepted and refused. Bytes are of uncompressed payloads. */
type Tally = Readonly<{
  requests: number
  spans: number
  logs: number
  rumEvents: number
  /** Refused spans, each for a `RefusalReason`; and log records and browser events that were refused within accepted requests. */
  refusedSpans: number
  refusedRecords: number
  bytes: number
}>
const noTally: Tally = { requests: 0, spans: 0, logs: 0, rumEvents: 0, refusedSpans: 0, refusedRecords: 0, bytes: 0 }

/** Refusals by reason. `unlisted`: spans beyond those that a refusal lists, whose reason is not known. */
export type RefusalCounts = Readonly<Record<string, number>>

const byName = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number => (a < b ? -1 : 1)

/** What one service has sent. */
type ServiceTally = Readonly<{ spans: number; logs: number; rumEvents: number }>
const noServiceTally: ServiceTally = { spans: 0, logs: 0, rumEvents: 0 }

const addService = (a: ServiceTally, b: ServiceTally): ServiceTally => ({
  spans: a.spans + b.spans,
  logs: a.logs + b.logs,
  rumEvents: a.rumEvents + b.rumEvents,
})

type Used = Readonly<{
  month: string
  total: Tally
  /** Bytes of requests that held only spans. In mixed browser requests they cannot be separated. */
  spanBytes: number
  refused: RefusalCounts
  /** By key id; `''`: no key, or a key beyond the first 1,000 of a day. */
  byKey: Readonly<Record<string, Tally>>
  /** By the service that records name; `''`: none, or a service beyond the first 500 of a day. */
  byService: Readonly<Record<string, ServiceTally>>
}>

/** A day of a workspace (UTC, by receipt), counted from the headers of events, and by service from their payloads. */
export type UsageOfDay = Used & Readonly<{ day: string }>
/** A month of a workspace: the sum of its days. */
export type UsageOfMonth = Used & Readonly<{ byDay: Readonly<Record<string, Tally>> }>

const keysMax = 1_000
export const servicesMax = 500
export const serviceCharactersMax = 128

/** What one event adds. */
function tallyOf({ type, counts }: EventHeader): Tally {
  const { spans, logs, rumEvents, bytes } = counts
  if (type === 'spans.refused') return { ...noTally, refusedSpans: counts.refused }
  return { requests: 1, spans, logs, rumEvents, refusedSpans: 0, refusedRecords: counts.refused, bytes }
}

function add(a: Tally | undefined, b: Tally): Tally {
  if (a === undefined) return b
  return {
    requests: a.requests + b.requests,
    spans: a.spans + b.spans,
    logs: a.logs + b.logs,
    rumEvents: a.rumEvents + b.rumEvents,
    refusedSpans: a.refusedSpans + b.refusedSpans,
    refusedRecords: a.refusedRecords + b.refusedRecords,
    bytes: a.bytes + b.bytes,
  }
}

const holdsSpansOnly = ({ type, counts }: EventHeader): boolean =>
  type === 'spans.received' || (type === 'rum.received' && counts.spans > 0 && counts.logs + counts.rumEvents === 0)

/** The number of refusals by reason: those listed, and the rest that the header counts. */
export function refusalsOf(header: EventHeader, listed: readonly RefusedSpan[]): RefusalCounts {
  const { refused } = header.counts
  if (refused === 0) return {}
  if (header.type !== 'spans.refused') return { rejected_record: refused }
  const reasons = new Map<string, number>()
  for (const { reason } of listed) reasons.set(reason, (reasons.get(reason) ?? 0) + 1)
  if (refused > listed.length) reasons.set('unlisted', refused - listed.length)
  return Object.fromEntries([...reasons].sort(byName))
}

/** Names are in text order, so that the document does not depend on the order of arrival. */
function addTo<T>(
  record: Readonly<Record<string, T>>,
  name: string,
  plus: (known: T | undefined) => T,
): Readonly<Record<string, T>> {
  if (Object.hasOwn(record, name)) return { ...record, [name]: plus(record[name]) }
  const entries: [string, T][] = [...Object.entries(record), [name, plus(undefined)]]
  return Object.fromEntries(entries.sort(byName))
}

/** What one event adds for each service. */
function servicesOf(event: DecodedEvent): ReadonlyMap<string, ServiceTally> {
  const services = new Map<string, { spans: number; logs: number; rumEvents: number }>()
  const count = (records: readonly Readonly<{ service: string | null }>[], kind: keyof ServiceTally): void => {
    for (const { service } of records) {
      const name = (service ?? '').slice(0, serviceCharactersMax)
      const tally = services.get(name) ?? { spans: 0, logs: 0, rumEvents: 0 }
      tally[kind]++
      services.set(name, tally)
    }
  }
  count(event.spans(), 'spans')
  count(event.logs(), 'logs')
  count(event.rumEvents(), 'rumEvents')
  return services
}

/** Makes one copy for the whole event, however many services it names. */
function addServices(known: UsageOfDay['byService'], event: DecodedEvent): UsageOfDay['byService'] {
  const added = servicesOf(event)
  if (added.size === 0) return known
  const services = new Map(Object.entries(known))
  for (const [name, tally] of added) {
    const place = services.has(name) || services.size < servicesMax ? name : ''
    services.set(place, addService(services.get(place) ?? noServiceTally, tally))
  }
  return Object.fromEntries([...services].sort(byName))
}

/** The day after one more event. */
export function addUsage(document: UsageOfDay | undefined, event: DecodedEvent, refusals: RefusalCounts): UsageOfDay {
  const header = event.event
  const [day, month] = [dayOf(header.receivedAt), monthOf(header.receivedAt)]
  const known = document ?? { day, month, total: noTally, spanBytes: 0, refused: {}, byKey: {}, byService: {} }
  const tally = tallyOf(header)
  const keyId = header.keyId ?? ''
  const keyName = Object.hasOwn(known.byKey, keyId) || Object.keys(known.byKey).length < keysMax ? keyId : ''
  let { refused } = known
  for (const [reason, count] of Object.entries(refusals)) refused = addTo(refused, reason, (n) => (n ?? 0) + count)
  return {
    day,
    month,
    total: add(known.total, tally),
    spanBytes: known.spanBytes + (holdsSpansOnly(header) ? header.counts.bytes : 0),
    refused,
    byKey: addTo(known.byKey, keyName, (key) => add(key, tally)),
    byService: addServices(known.byService, event),
  }
}

/** Sums by name over the days, in text order of the names. */
function sumByName<T>(
  days: readonly UsageOfDay[],
  of: (day: UsageOfDay) => Readonly<Record<string, T>>,
  plus: (a: T, b: T) => T,
): Readonly<Record<string, T>> {
  const sums = new Map<string, T>()
  for (const day of days) {
    for (const [name, value] of Object.entries(of(day))) {
      const known = sums.get(name)
      sums.set(name, known === undefined ? value : plus(known, value))
    }
  }
  return Object.fromEntries([...sums].sort(byName))
}

/** A month, from those of its days that exist. */
export function sumUsage(month: string, days: readonly UsageOfDay[]): UsageOfMonth {
  return {
    month,
    total: days.reduce((sum, { total }) => add(sum, total), noTally),
    spanBytes: days.reduce((sum, { spanBytes }) => sum + spanBytes, 0),
    refused: sumByName(
      days,
      ({ refused }) => refused,
      (a, b) => a + b,
    ),
    byDay: sumByName(days, ({ day, total }) => ({ [day]: total }), add),
    byKey: sumByName(days, ({ byKey }) => byKey, add),
    byService: sumByName(days, ({ byService }) => byService, addService),
  }
}

/** Midnight, UTC, in nanoseconds. */
export const dayStartNs = (day: string): bigint => BigInt(Date.parse(`${day}T00:00:00Z`)) * 1_000_000n

/**
 * One document per day. One per month would not do: the clocks of several processes differ, so it could be created on two days and then exist twice.
 */
export const usageCollection: Collection<UsageOfDay> = {
  name: 'usage',
  kind: 'document',
  lookbackDays: 0,
  fields: { month: 'keyword', spans: 'number' },
  searchable: ({ day, month, total }) => ({ timeNs: dayStartNs(day), fields: { month, spans: total.spans } }),
}
/** Upper limit of days of a month, with room to spare. */
export const daysOfMonthMax = 62

/** How often something was refused, by day, key and reason. */
export type RefusalDocument = Readonly<{
  day: string
  keyId: string | null
  eventType: TelemetryEventType
  reason: string
  count: number
}>

export const refusalCollection: Collection<RefusalDocument> = {
  name: 'refusals',
  kind: 'document',
  lookbackDays: 0,
  fields: { day: 'keyword', key_id: 'keyword', reason: 'keyword', count: 'number' },
  searchable: ({ day, keyId, reason, count }) => ({
    timeNs: dayStartNs(day),
    fields: { day, key_id: keyId ?? undefined, reason, count },
  }),
}
