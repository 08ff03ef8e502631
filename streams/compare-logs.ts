import { createHash, type Hash } from 'node:crypto'
import { formatHeader } from '#src/events/codec.ts'
import { beforeAll, type RecordedEvent } from '#src/events/envelope.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import { present } from '#src/lib/assert.ts'
import { eventsPerReadMax, type CopiedLog } from './copy-log.ts'
import type { Stream } from './stream.ts'

/** Events of a workspace: how many, and a SHA-256 over all of them in their order, headers and payloads, in hex. */
export type Tally = Readonly<{ events: number; digest: string }>

/** A workspace in a log and in its copy; `later`: what the copy holds beyond as many events as the log has. */
export type ComparedWorkspace = Readonly<{
  partition: string
  workspaceId: WorkspaceId
  source: Tally
  copy: Tally
  later: number
  equal: boolean
}>

type Counting = { readonly hash: Hash; events: number }
type Sides = { readonly workspaceId: WorkspaceId; readonly source: Counting; readonly copy: Counting; later: number }

function count(counting: Counting, event: RecordedEvent, keepsPositions: boolean): void {
  const place = keepsPositions ? event.position : ''
  counting.events++
  counting.hash.update(`${formatHeader(event)}\n${event.payload.length} ${place}\n`)
  counting.hash.update(event.payload)
}

const tallyOf = ({ events, hash }: Counting): Tally => ({ events, digest: hash.digest('hex') })

/** All that a log holds, as often as it is asked. */
async function* eventsOf(log: Pick<Stream, 'read'>): AsyncGenerator<readonly RecordedEvent[]> {
  for (let position = beforeAll; ;) {
    const events = await log.read(position, eventsPerReadMax)
    const last = events.at(-1)
    if (last === undefined) return
    yield events
    position = last.position
  }
}

/** `done` of `all` events have been read. */
export type CompareProgress = (done: number, all: number) => void

/**
 * Reads a log and its copies from beginning to end and compares workspace by workspace: how many events, what they are and in which
 * order. What was appended to the copies since is counted apart.
 */
export async function compareLogs(
  { source, targets, targetsOf, keepsPositions }: CopiedLog,
  onProgress: CompareProgress,
): Promise<readonly ComparedWorkspace[]> {
  const partitions = targets.map(() => new Map<WorkspaceId, Sides>())
  const sidesOf = (target: number, workspaceId: WorkspaceId): Sides => {
    const workspaces = present(partitions[target], 'an event belongs to one of the targets')
    const fresh = (): Counting => ({ hash: createHash('sha256'), events: 0 })
    const sides = workspaces.get(workspaceId) ?? { workspaceId, source: fresh(), copy: fresh(), later: 0 }
    workspaces.set(workspaceId, sides)
    return sides
  }
  let expected = 0
  for await (const events of eventsOf(source)) {
    for (const event of events) {
      for (const target of targetsOf(event)) {
        count(sidesOf(target, event.workspaceId).source, event, keepsPositions)
        expected++
      }
    }
    onProgress(expected, 2 * expected)
  }
  let done = expected
  for (const [target, { log }] of targets.entries()) {
    for await (const events of eventsOf(log)) {
      for (const event of events) {
        const sides = sidesOf(target, event.workspaceId)
        if (sides.copy.events < sides.source.events) count(sides.copy, event, keepsPositions)
        else sides.later++
      }
      done += events.length
      onProgress(done, Math.max(done, 2 * expected))
    }
  }
  return targets.flatMap(({ partition }, target) =>
    [...(partitions[target]?.values() ?? [])].map(({ workspaceId, later, ...sides }) => {
      const [source, copy] = [tallyOf(sides.source), tallyOf(sides.copy)]
      return { partition, workspaceId, source, copy, later, equal: source.digest === copy.digest }
    }),
  )
}
