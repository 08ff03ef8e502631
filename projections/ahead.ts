import type { RecordedEvent } from '#src/events/envelope.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import { inBatches, recordsOf, type BatchLimits } from './batches.ts'
import type { Ahead, Reached } from './index-store.ts'

/** Who has sent this part of all that waits, and more than a batch, is not folded ahead of its turn. */
const heavyPart = 0.25
/** So many wait at most, each noted by its place: else everybody does. */
const behindMax = 256

/** Events up to one whose fold needs what other workspaces have sent before it: an event of any workspace may be tried again. */
function outOfTurn(events: readonly RecordedEvent[]): readonly RecordedEvent[] {
  const end = events.findIndex(({ type }) => type === 'deadletter.retried')
  return end === -1 ? events : events.slice(0, end)
}

/** How many batches an event fills: the larger of its parts by records and by bytes. */
const workOf = (event: RecordedEvent, limits: BatchLimits): number =>
  Math.max(recordsOf(event) / limits.projectorBatchRecordsMax, event.counts.bytes / limits.projectorBatchBytesMax)

/** What has come of each workspace, in batches. */
type Sent = ReadonlyMap<WorkspaceId, number>

function withEvents(sent: Sent, events: readonly RecordedEvent[], limits: BatchLimits): Sent {
  const sum = new Map(sent)
  for (const event of events) sum.set(event.workspaceId, (sum.get(event.workspaceId) ?? 0) + workOf(event, limits))
  return sum
}

function heavyIn(sent: Sent): readonly WorkspaceId[] {
  const all = sent.values().reduce((sum, work) => sum + work, 0)
  return [...sent].filter(([, work]) => work > 1 && work > all * heavyPart).map(([workspaceId]) => workspaceId)
}

/** Who waits: those who did, and from the place reached on those who have sent much by now. */
function behindAfter({ position, ahead }: Reached, sent: Sent): Ahead['behind'] {
  const behind = new Map(ahead?.behind)
  for (const workspaceId of heavyIn(sent))
    if (!behind.has(workspaceId)) behind.set(workspaceId, ahead?.position ?? position)
  return behind
}

/** `work`: of what is light, in batches. */
export type Step = Readonly<{ light: readonly RecordedEvent[]; work: number; ahead: Ahead }>

/** What is to be folded out of turn while there is a backlog; it remembers who has sent how much of that. */
export type LookAhead = Readonly<{
  /** These were folded in their turn. */
  passed(events: readonly RecordedEvent[]): void
  /** There is no backlog any more. */
  rest(): void
  /**
   * What is to be folded next beyond a build's place, a batch at most, of those who have not sent much; and how far the build then is.
   * `events` follow on what was reached before. Undefined where nobody has, and where nothing may be folded out of turn.
   */
  step(reached: Reached, events: readonly RecordedEvent[], nowMs: number): Step | undefined
}>

export function createLookAhead(limits: BatchLimits): LookAhead {
  let sent: Sent = new Map()
  const passed = (events: readonly RecordedEvent[]): void => void (sent = withEvents(sent, events, limits))
  return {
    passed,
    rest: () => void (sent = new Map()),
    step(reached, events, nowMs) {
      const given = outOfTurn(events)
      const behind = behindAfter(reached, withEvents(sent, given, limits))
      if (behind.size === 0 || behind.size > behindMax) return undefined
      const others = given.filter(({ workspaceId }) => !behind.has(workspaceId))
      const [light = []] = inBatches(others, limits)
      const last = light.length === others.length ? given.at(-1) : light.at(-1)
      if (last === undefined) return undefined
      passed(given.filter(({ position }) => position <= last.position))
      const caughtUpAt = Math.max(reached.ahead?.caughtUpAt ?? 0, Math.min(nowMs, last.receivedAt))
      const work = light.reduce((sum, event) => sum + workOf(event, limits), 0)
      return { light, work, ahead: { position: last.position, caughtUpAt, behind } }
    },
  }
}
