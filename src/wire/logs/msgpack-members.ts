import type { JsonRange } from '#src/lib/json-bytes.ts'
import { createMsgpackReader } from './msgpack.ts'
import { pairAt } from './split-msgpack.ts'
import { createMembers, type Member } from './wrapper.ts'

/** The members with text names of the map at `start`, like `read` of json-members.ts. */
function read(body: Uint8Array, start: number, isWanted?: (name: string) => boolean): readonly Member[] {
  const reader = createMsgpackReader(body)
  const members = createMembers()
  const { kind, next, size } = reader.head(start)
  if (kind !== 'map') return []
  let at = next
  for (let index = 0; index < size; index++) {
    const keyStart = at
    const key = { ...reader.head(keyStart) }
    const valueStart = reader.value(keyStart)
    const { kind: kindOfValue, size: sizeOfValue } = { ...reader.head(valueStart) }
    const before = reader.values()
    at = reader.value(valueStart)
    // A key that is not text matches no name.
    if (key.kind !== 'text') continue
    const name = Buffer.from(body.buffer, body.byteOffset + key.next, key.size).toString('utf8')
    if (isWanted === undefined && !members.mayWrap(name)) return []
    if (isWanted?.(name) === false) continue
    members.add({
      name,
      whole: { start: keyStart, end: at },
      value: { start: valueStart, end: at },
      isList: kindOfValue === 'array',
      isEmpty: kindOfValue === 'nil' || ((kindOfValue === 'text' || kindOfValue === 'array') && sizeOfValue === 0),
      depth: reader.depth(),
      values: reader.values() - before + 1,
    })
  }
  return members.all()
}

/** Where a record's map begins: a time may stand before it. */
const mapStart = (body: Uint8Array, { start }: JsonRange): number =>
  pairAt(createMsgpackReader(body), start)?.map ?? start

/** The members of a record with some names. */
export const msgpackMembersOf = (
  body: Uint8Array,
  record: JsonRange,
  isWanted: (name: string) => boolean,
): readonly Member[] => read(body, mapStart(body, record), isWanted)

/** What stands in a body of one value that may be a wrapper; nothing where it is a record, or no map. */
export const msgpackMembersOfWrapper = (body: Uint8Array): readonly Member[] => read(body, 0)

/** The record with more members after its own. Its map gets the longest head, which fits any size. */
export function withMsgpackMembers(body: Uint8Array, record: JsonRange, added: readonly Member[]): Uint8Array {
  const start = mapStart(body, record)
  const { next, size } = createMsgpackReader(body).head(start)
  const head = Buffer.from([0xdf, 0, 0, 0, 0])
  head.writeUInt32BE(size + added.length, 1)
  const members = added.map(({ whole }) => body.subarray(whole.start, whole.end))
  return Buffer.concat([body.subarray(record.start, start), head, body.subarray(next, record.end), ...members])
}
