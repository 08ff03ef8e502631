import { createJsonReader, eachMember, type JsonRange } from '#src/lib/json-bytes.ts'
import type { Split } from './split.ts'

// Bodies made for the bulk API of Elasticsearch and OpenSearch: lines in turn of an action and the record that it stores. The actions say nothing.

const actions: ReadonlySet<string> = new Set(['index', 'create'])
/** The longest line that is examined: an action is short. */
const actionBytesMax = 2_048
const openBrace = 0x7b
const partsOfAction: ReadonlySet<string> = new Set([
  '_index',
  '_id',
  '_type',
  'routing',
  'require_alias',
  'pipeline',
  'version',
  'version_type',
])

function namesIn(body: Uint8Array, start: number): ReadonlyMap<string, JsonRange> {
  const members = new Map<string, JsonRange>()
  eachMember(body, createJsonReader(body), start, (name, value) => members.set(name(), value))
  return members
}

function isAction(body: Uint8Array, { start, end }: JsonRange): boolean {
  if (end - start > actionBytesMax) return false
  const [only, ...others] = namesIn(body, start)
  if (only === undefined || others.length > 0) return false
  const [name, value] = only
  if (!actions.has(name) || body[value.start] !== openBrace) return false
  return namesIn(body, value.start)
    .keys()
    .every((part) => partsOfAction.has(part))
}

/** The split without actions, if it begins with one. Done at ingest only: what was stored with them keeps them. */
export function withoutActions(body: Uint8Array, split: Split): Split {
  const [first, second] = split.accepted
  if (split.mediaType !== 'application/x-ndjson' || first === undefined || second === undefined) return split
  if (!isAction(body, first) || isAction(body, second)) return split
  const accepted = split.accepted.filter((record) => !isAction(body, record))
  const total = split.total - (split.accepted.length - accepted.length)
  return { ...split, accepted, total, asReceived: false }
}
