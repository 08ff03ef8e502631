import type { Position } from '#src/events/envelope.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import type { Stream } from '#streams/stream.ts'
import type { IndexReader } from '../index-store.ts'
import type { UsageDocument } from './usage-document.ts'
import { monthOf, usageCollection } from './usage-document.ts'

type Counted = Readonly<{ position: Position; spans: number }>

const readEventsMax = 1_000

/** What the log holds behind a position, by workspace and month. */
async function countTail(stream: Stream, from: Position): Promise<Map<string, Counted[]>> {
  const tail = new Map<string, Counted[]>()
  let position = from
  for (;;) {
    const events = await stream.read(position, readEventsMax)
    for (const { workspaceId, receivedAt, counts, position: at } of events) {
      if (counts.spans === 0) continue
      const name = `${workspaceId}/${monthOf(receivedAt)}`
      tail.set(name, [...(tail.get(name) ?? []), { position: at, spans: counts.spans }])
    }
    const last = events.at(-1)
    if (last === undefined) return tail
    position = last.position
  }
}

/**
 * Spans that the log held for a workspace's month when this was made: the usage index as far as it had come, and the log behind
 * it. Made before the process appends its first event, it stays exact while the projector goes on: each event is counted
 * from the one side or the other, by the position of the usage document.
 */
export async function createUsedSpans(
  reader: IndexReader,
  stream: Stream,
): Promise<(workspaceId: WorkspaceId, month: string) => Promise<number>> {
  const head = await stream.head()
  const indexed = (await reader.progress('allowance'))?.position ?? 0
  const tail = await countTail(stream, Math.min(indexed, head))
  return async (workspaceId, month) => {
    const scope = { workspaceId, projection: 'allowance', collection: usageCollection.name }
    const [hit] = await reader.get<UsageDocument>(scope, [month])
    const folded = hit?.position ?? 0
    const behind = (tail.get(`${workspaceId}/${month}`) ?? []).filter(({ position }) => position > folded)
    return behind.reduce((sum, { spans }) => sum + spans, hit?.document.total.spans ?? 0)
  }
}
