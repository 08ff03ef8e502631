import type { Position } from '#src/events/envelope.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import type { Stream } from '#streams/stream.ts'
import type { IndexReader } from '../index-store.ts'
import type { UsageDocument } from './usage-document.ts'
import { monthOf, usageCollection } from './usage-document.ts'

export type UsedSpans = Readonly<{
  /** Spans that the log held for a workspace's month when it was last caught up with. */
  spans(workspaceId: WorkspaceId, month: string): Promise<number>
  /** Reads on to the log's head. */
  catchUp(): Promise<void>
}>

type Counted = Readonly<{ position: Position; spans: number }>

const readEventsMax = 1_000

/** Adds what the log holds behind a position, by workspace and month; how far it has read. */
async function countTail(stream: Stream, from: Position, tail: Map<string, Counted[]>): Promise<Position> {
  let position = from
  for (;;) {
    const events = await stream.read(position, readEventsMax)
    for (const { workspaceId, receivedAt, counts, position: at } of events) {
      if (counts.spans === 0) continue
      const name = `${workspaceId}/${monthOf(receivedAt)}`
      const known = tail.get(name) ?? []
      if (known.push({ position: at, spans: counts.spans }) === 1) tail.set(name, known)
    }
    const last = events.at(-1)
    if (last === undefined) return position
    position = last.position
  }
}

/**
 * Spans that the log held for a workspace's month when this was made, or last caught up: the usage index as far as it had come,
 * and the log behind it. It is exact while nobody appends spans of that workspace, and however far the projector goes on
 * meanwhile: each event is counted from the one side or the other, by the position of the usage document.
 */
export async function createUsedSpans(reader: IndexReader, stream: Stream): Promise<UsedSpans> {
  const head = await stream.head()
  const indexed = (await reader.progress('allowance'))?.position ?? 0
  const tail = new Map<string, Counted[]>()
  let position = await countTail(stream, Math.min(indexed, head), tail)
  return {
    spans: async (workspaceId, month) => {
      const scope = { workspaceId, projection: 'allowance', collection: usageCollection.name }
      const [hit] = await reader.get<UsageDocument>(scope, [month])
      const folded = hit?.position ?? 0
      const behind = (tail.get(`${workspaceId}/${month}`) ?? []).filter(({ position }) => position > folded)
      return behind.reduce((sum, { spans }) => sum + spans, hit?.document.total.spans ?? 0)
    },
    catchUp: async () => {
      position = await countTail(stream, position, tail)
    },
  }
}
