import { refusal, type Refusal } from '#src/events/refusal.ts'
import { skipSpace, type JsonRange } from '#src/lib/json-bytes.ts'
import { membersOf } from './json-members.ts'
import { msgpackMembersOf, withMsgpackMembers } from './msgpack-members.ts'
import type { Split, SplitLimits } from './split.ts'
import { createUnsaid, type Member } from './wrapper.ts'

const comma = Buffer.from(',')
const closeBrace = Buffer.from('}')
const [endOfObject] = closeBrace

/** Bytes for the longer head that a MessagePack map gets. Each member also takes a comma. */
const headBytes = 5

/**
 * Refuses a body whose records would be too large with the members beside their list. These are kept with each record, so they count once per record.
 * Together with the body they must stay within the limits of a body, or what is stored could not be read again.
 * Undefined: the body is within the limits.
 */
export function besideOverLimit(body: Uint8Array, split: Split, limits: SplitLimits): Refusal | undefined {
  const { wrapper, accepted, values, total } = split
  const beside = wrapper?.beside ?? []
  if (beside.length === 0) return undefined
  const deep = beside.find(({ depth }) => depth >= limits.jsonDepthMax)
  if (deep !== undefined) {
    return refusal('invalid_body', `${JSON.stringify(deep.name)} is nested deeper than ${limits.jsonDepthMax} levels`)
  }
  const bytes = beside.reduce((sum, { whole }) => sum + whole.end - whole.start + 1, headBytes)
  const more = beside.reduce((sum, member) => sum + member.values, 0)
  const isTooMuch =
    bytes * accepted.length + body.length > limits.decodedBytesMax ||
    more * accepted.length + values > limits.nodesPerRequestMax
  if (!isTooMuch) return undefined
  return refusal(
    'payload_too_large',
    'each record is kept with what stands beside their list, and so they come to more than is taken: send less beside it, or smaller batches',
    { records: total },
  )
}

/** Makes a function that writes a record as it is stored: its own members, then the members beside the list that the record does not say itself. */
export function besideWriter(body: Uint8Array, { wrapper, mediaType }: Split): (record: JsonRange) => Uint8Array {
  const beside = wrapper?.beside ?? []
  const unsaid = createUnsaid(beside)
  if (beside.length === 0) return ({ start, end }) => body.subarray(start, end)
  if (mediaType === 'application/msgpack') {
    return (record) => withMsgpackMembers(body, record, unsaid.of(msgpackMembersOf(body, record, unsaid.isRelated)))
  }
  let last: Readonly<{ added: readonly Member[]; text: Uint8Array }> | undefined
  return (record) => {
    const added = unsaid.of(membersOf(body, record, unsaid.isRelated))
    if (last?.added !== added) last = { added, text: jsonOf(body, added) }
    return withJsonMembers(body, record, last.text)
  }
}

function jsonOf(body: Uint8Array, members: readonly Member[]): Uint8Array {
  const parts = members.map(({ whole }) => body.subarray(whole.start, whole.end))
  return Buffer.concat(parts.flatMap((part, index) => (index === 0 ? [part] : [comma, part])))
}

function withJsonMembers(body: Uint8Array, { start, end }: JsonRange, added: Uint8Array): Uint8Array {
  if (added.length === 0) return body.subarray(start, end)
  const isBare = body[skipSpace(body, start + 1)] === endOfObject
  return Buffer.concat([body.subarray(start, end - 1), ...(isBare ? [] : [comma]), added, closeBrace])
}
