import type { DecodedEvent, Collection } from '../projection.ts'
import type { RefusalCounts } from './usage-document.ts'

/** The first record that was sent with a key, with the ids by which to find it. */
export type FirstRecord = Readonly<{
  /** Time of receipt, ms since the Unix epoch. */
  at: number
  kind: 'span' | 'log' | 'rumEvent'
  service: string | null
  traceId: string | null
  sessionId: string | null
}>

/** The use of a key, as far as events tell: reading with a key leaves none. */
export type KeyUse = Readonly<{
  keyId: string
  /** Ms since the Unix epoch; updated at most once a minute, so that a busy key's document is not written with each batch. */
  lastUsedAt: number
  /** Null until something has been accepted. */
  first: FirstRecord | null
  /** The first refusal; null while there is none. */
  refused: Readonly<{ at: number; reason: string }> | null
}>

const useStepMs = 60_000
/** After this many days a key gets a new document, with a `first` of its own. */
const lookbackDays = 31

export const keyUseCollection: Collection<KeyUse> = {
  name: 'keyUse',
  kind: 'document',
  lookbackDays,
  fields: { key_id: 'id' },
  searchable: ({ keyId, lastUsedAt }) => ({ timeNs: BigInt(lastUsedAt) * 1_000_000n, fields: { key_id: keyId } }),
}

function firstRecord(event: DecodedEvent): FirstRecord | null {
  const at = event.event.receivedAt
  const [span] = event.spans()
  if (span !== undefined) {
    const { service, traceId, sessionId } = span
    return { at, kind: 'span', service, traceId, sessionId }
  }
  const [rumEvent] = event.rumEvents()
  const [log] = event.logs()
  const record = rumEvent ?? log
  if (record === undefined) return null
  const { service, traceId, sessionId } = record
  return { at, kind: record === log ? 'log' : 'rumEvent', service, traceId, sessionId }
}

/** The key's document after one more event; the same object if nothing has changed. */
export function addKeyUse(
  document: KeyUse | undefined,
  keyId: string,
  event: DecodedEvent,
  refusals: RefusalCounts,
): KeyUse {
  const at = event.event.receivedAt
  const known = document ?? { keyId, lastUsedAt: at, first: null, refused: null }
  const first = known.first ?? firstRecord(event)
  const [reason] = Object.keys(refusals)
  const refused = known.refused ?? (reason === undefined ? null : { at, reason })
  const isTimely = at - known.lastUsedAt < useStepMs
  if (document !== undefined && isTimely && first === known.first && refused === known.refused) return document
  return { keyId, lastUsedAt: Math.max(known.lastUsedAt, at), first, refused }
}
