import type { RecordedEvent } from '#src/events/envelope.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import type { Ahead, Reached } from '../index-store.ts'
import { inBatches, recordsOf, type BatchLimits } from './batches.ts'

/** A workspace that has sent more than this share of the backlog, and more than a batch, is not folded ahead of its turn. */
const heavyPart = 0.25
/** How many workspaces may be noted as behind; with more, nothing is folded ahead. */
const behindMax = 256

/** The events before the first that depends on other workspaces: a retried dead letter may be of any workspace. */
function outOfTurn(events: readonly RecordedEvent[]): readonly RecordedEvent[] {
  const end = events.findIndex(({ type }) => type === 'deadletter.retried')
  return end === -1 ? events : events.slice(0, end)
}

/** The share of a batch that an event fills, by records or by bytes, whichever is larger. */
const workOf = (event: RecordedEvent, limits: BatchLimits): number =>
  Math.max(recordsOf(event) / limits.projectorBatchRecordsMax, event.counts.bytes / limits.projectorBatchBytesMax)

/** What each workspace has sent, in batches. */
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

/** The workspaces that are behind: those that were before, and, from the position reached, those that have become heavy. */
function behindAfter({ position, ahead }: Reached, sent: Sent): Ahead['behind'] {
  const behind = new Map(ahead?.behind)
  for (const workspaceId of heavyIn(sent))
    if (!behind.has(workspaceId)) behind.set(workspaceId, ahead?.position ?? position)
  return behind
}

/** `light`: the events to fold now. `work`: their size in batches. */
export type Step = Readonly<{ light: readonly RecordedEvent[]; work: number; ahead: Ahead }>

/** Decides what is folded out of turn during a backlog; remembers how much of it each workspace has sent. */
export type LookAhead = Readonly<{
  /** These were folded in their turn. */
  passed(events: readonly RecordedEvent[]): void
  /** The backlog is over. */
  rest(): void
  /**
   * The next events to fold ahead of a build's position, of workspaces that have sent little, at most a batch; and the build's state after
   * that. `events` follow what was reached before. Undefined where there are none, and where nothing may be folded out of turn.
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
