import { assert } from '#src/lib/assert.ts'
import { isJsonObject, type Json } from '#src/lib/json.ts'
import type { Position } from '#src/events/envelope.ts'
import type { Hit, SortKey } from '../index-store.ts'

/**
 * A place after a record in the order of arrival; with `id` null, after everything up to the position. `shown`: later records that were shown
 * already, because they were found before the index was complete up to them.
 */
export type ArrivalPlace = Readonly<{
  kind: 'arrival'
  position: Position
  id: string | null
  shown: readonly string[]
}>
/** A place in a walk through log records. As JSON it is the key in a cursor. */
export type LogPlace = Readonly<{ kind: 'time'; key: SortKey }> | ArrivalPlace

/** The place after this record in the order of time. */
export const placeOf = ({ sort }: Hit): Json => ({ t: sort.value.toString(), i: sort.id })

/** As many as a cursor has room for. If more records than that are being written, some are shown again. */
const shownMax = 30

export function tailPlace(position: Position, id: string | null, shown: readonly string[]): Json {
  return { p: position, i: id, ...(shown.length === 0 ? {} : { s: shown.slice(0, shownMax) }) }
}

/** The place of a key that placeOf or tailPlace made; undefined without a key. */
export function readPlace(key: Json | undefined): LogPlace | undefined {
  if (key === undefined || key === null) return undefined
  assert(isJsonObject(key), 'a key of a log page is an object')
  const { t, p, i, s = [] } = key as { [name: string]: Json | undefined }
  if (typeof t === 'string' && typeof i === 'string') return { kind: 'time', key: { value: BigInt(t), id: i } }
  assert(typeof p === 'number' && (i === null || typeof i === 'string'), 'a key of a log page names a place')
  assert(Array.isArray(s) && s.length <= shownMax, 'a key of a log page names what was shown')
  return { kind: 'arrival', position: p, id: i, shown: s.map(String) }
}
