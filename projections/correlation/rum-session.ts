import { isErrorLevel } from '#src/events/telemetry.ts'
import type { Json, JsonObject } from '#src/lib/json.ts'
import { formatTimeNs } from '#src/lib/time.ts'
import type { Hit, SortKey } from '../index-store.ts'
import type { LogDocument } from '../logs/log-document.ts'
import { fieldOf } from '../logs/log-item.ts'
import { isErrorEvent, type RumEventDocument } from './rum-event-document.ts'

/** A record that a browser has sent: a browser event, a log record or an exception, with what it says about its session. */
export type RumRecord = Readonly<{
  sort: SortKey
  sessionId: string | null
  service: string | null
  url: string | null
  user: string | null
  isError: boolean
}>

/** A session, as far as its records were read. */
export type RumSession = Readonly<{
  session_id: string
  first: string
  last: string
  event_count: number
  error_count: number
  /** The newest values in its records. */
  service: string | null
  url: string | null
  user: string | null
}>

const textOf = (value: Json | undefined): string | null => {
  if (typeof value === 'number' || typeof value === 'bigint') return String(value)
  return typeof value === 'string' && value.trim() !== '' ? value : null
}

const firstText = (fields: JsonObject, names: readonly string[]): string | null =>
  names.map((name) => textOf(fieldOf(fields, name))).find((text) => text !== null) ?? null

/** Names under which senders identify the user, readable ones first. Faro's `meta` puts them into `user`. */
const userNames = [
  'user.username',
  'user.email',
  'user.fullName',
  'user.name',
  'user.id',
  'user',
  'user_email',
  'userEmail',
  'user_id',
  'userId',
  'enduser.id',
]

export function recordOfEvent({ sort, document }: Hit<RumEventDocument>): RumRecord {
  const { sessionId = null, service = null, url = null, fields } = document
  return { sort, sessionId, service, url, user: firstText(fields, userNames), isError: isErrorEvent(document) }
}

export function recordOfLog({ sort, document }: Hit<LogDocument>): RumRecord {
  const { sessionId = null, service = null, fields } = document
  const [url, user] = [firstText(fields, ['page.url']), firstText(fields, userNames)]
  return { sort, sessionId, service, url, user, isError: isErrorLevel(document.level) }
}

/** The newest of the records that belong to at most `sessionsMax` sessions. */
export function ofSessions(records: readonly RumRecord[], sessionsMax: number): readonly RumRecord[] {
  const met = new Set<string>()
  const end = records.findIndex(({ sessionId }) => sessionId !== null && met.add(sessionId).size > sessionsMax)
  return end === -1 ? records : records.slice(0, end)
}

const sessionOf = (id: string, records: readonly RumRecord[]): RumSession => {
  const timeAt = (at: number): string => formatTimeNs(records.at(at)?.sort.value ?? 0n)
  const newest = (name: 'service' | 'url' | 'user'): string | null =>
    records.find((record) => record[name] !== null)?.[name] ?? null
  return {
    session_id: id,
    first: timeAt(-1),
    last: timeAt(0),
    event_count: records.length,
    error_count: records.filter(({ isError }) => isError).length,
    service: newest('service'),
    url: newest('url'),
    user: newest('user'),
  }
}

/** The sessions of records that are sorted newest first, in the order of their last records. */
export function sessionsOf(records: readonly RumRecord[]): readonly RumSession[] {
  const bySession = Map.groupBy(records, ({ sessionId }) => sessionId)
  return [...bySession].flatMap(([id, own]) => (id === null ? [] : [sessionOf(id, own)]))
}
