import { createHash, type Hash } from 'node:crypto'
import { formatHeader } from '#src/events/codec.ts'
import type { RecordedEvent } from '#src/events/envelope.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import { present } from '#src/lib/assert.ts'
import { eventsPerReadMax, type CopiedLog } from './copy-log.ts'
import { readAll } from './follow.ts'

/** Events of a workspace: how many, and a SHA-256 over all of them in their order, headers and payloads, in hex. */
type Tally = Readonly<{ events: number; digest: string }>

/** A workspace in a log and in its copy. `later`: events of the copy beyond the number that the log has. */
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

/** `done` of `all` events have been read. */
type CompareProgress = (done: number, all: number) => void

/**
 * Reads a log and its copies from beginning to end, and compares the number, content and order of events, workspace by workspace. Events that
 * were appended to a copy later are counted separately.
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
  for await (const events of readAll(source, eventsPerReadMax)) {
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
    for await (const events of readAll(log, eventsPerReadMax)) {
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
