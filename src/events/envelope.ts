import type { WorkspaceId } from './workspace-id.ts'

/**
 * A place in one stream: the sequence of its message × 4096, minus the number of events after it in that message. So a message may hold
 * many events, and always ends at a multiple of 4096. 0 is before everything. Positions of different streams, or of different epochs of one
 * stream, cannot be compared.
 */
export type Position = number & { readonly __position?: never }
export const positionStep = 4096
export const beforeAll: Position = 0

/** Telemetry and refused telemetry are in the telemetry streams; the rest is the directory's (directory.ts). */
export const telemetryEventTypes = ['spans.received', 'logs.received', 'rum.received', 'spans.refused'] as const
export type TelemetryEventType = (typeof telemetryEventTypes)[number]
/** The span allowance's ledgers, in the same streams (allowance.ts). Folds ignore these: they count what is stored. */
export const allowanceEventTypes = [
  'allowance.reserved',
  'allowance.returned',
  'allowance.reclaimed',
  'allowance.counted',
  'allowance.closed',
  'allowance.began',
] as const
export type AllowanceEventType = (typeof allowanceEventTypes)[number]
/** Decisions about events that a fold cannot take, in the same streams (dead-letter.ts). */
export const deadLetterEventTypes = [
  'deadletter.put',
  'deadletter.retried',
  'deadletter.dropped',
  'deadletter.explained',
  'deadletter.erased',
] as const
export type DeadLetterEventType = (typeof deadLetterEventTypes)[number]
/** Erasures of whole workspaces, in the same streams (erasure.ts). */
export const workspaceEventTypes = ['workspace.erased'] as const
type WorkspaceEventType = (typeof workspaceEventTypes)[number]
export type EventType =
  | TelemetryEventType
  | AllowanceEventType
  | DeadLetterEventType
  | WorkspaceEventType
  | `directory.${string}`

/** `workspace.route.hash`: made by the server, so that no two workspaces can share one. */
export type EventId = string

/** The id of an event that goes with a request's own one, and says what of the request was refused. */
export const besideId = (id: EventId): EventId => `${id}/refused`

/** What was accepted of a request, as counted by ingest. Bytes are of the payload as decoded (uncompressed). */
export type Counts = Readonly<{ spans: number; logs: number; rumEvents: number; refused: number; bytes: number }>
export const noCounts: Counts = { spans: 0, logs: 0, rumEvents: 0, refused: 0, bytes: 0 }

/** Everything about an event except its payload. Immutable once written. */
export type EventHeader = Readonly<{
  id: EventId
  type: EventType
  schemaVersion: number
  workspaceId: WorkspaceId
  keyId: string | null
  /** Milliseconds since the Unix epoch, by the server's clock. Months and days of the service go by it. */
  receivedAt: number
  /** Which retention applies, given the plan at the time of receipt. */
  retentionClass: string
  /** True if a repeated id is the same request (spans, RUM, keyed log requests), which folds leave out. */
  identified: boolean
  /** Optimistic concurrency: events of one subject are ordered by it. */
  subject?: string
  /** Events with spans: the reservation they were spent from (allowance.ts). */
  reservation?: string
  counts: Counts
  /** JSON of what the first answer said beyond full success, so that a retry gets the same answer. */
  answer?: string
  /** Media type of the payload, without parameters, and its content coding: none, the sender's own gzip, or our zstd. */
  contentType: string
  encoding: '' | 'zstd' | 'gzip'
  /** CRC-32 of the payload's stored bytes. */
  crc: number
}>

/** The header of an event with its place in the log. */
export type RecordedHeader = EventHeader & Readonly<{ position: Position }>
export type NewEvent = EventHeader & Readonly<{ payload: Uint8Array }>

/** An event with its place in the log. Only a stream adapter makes one. */
export type RecordedEvent = NewEvent & Readonly<{ position: Position }>
