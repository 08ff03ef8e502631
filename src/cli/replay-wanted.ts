import { telemetryEventTypes, type Position, type RecordedEvent } from '#src/events/envelope.ts'
import { parseTimeNs } from '#src/events/point-in-time.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import { nearest } from '#src/lib/nearest.ts'
import { checkPartition, concerns, optional, parsePosition, repeated, type GivenPosition } from './options.ts'
import type { FirstEvent } from '#streams/stream.ts'
import type { PlacedEvent } from './replay-file.ts'
import { UsageError, type VerbContext } from './verb.ts'

/** A position, or a time of receipt (ms). */
type Bound = GivenPosition | Readonly<{ at: number }>

function boundOption(given: VerbContext, name: string): Bound | undefined {
  const text = optional(given, name)
  if (text === undefined) return undefined
  const position = parsePosition(text)
  if (position !== undefined) return position
  const atNs = parseTimeNs(text, given.clock())
  if (atNs === undefined)
    throw new UsageError(`--${name} is a position, such as 0/4096, or a time, such as 2026-11-21T12:00Z or 2h`)
  return { at: Number(atNs / 1_000_000n) }
}

function typesOf(given: VerbContext): ReadonlySet<string> | undefined {
  const types = repeated(given, 'type')
  for (const type of types) {
    if ((telemetryEventTypes as readonly string[]).includes(type)) continue
    const meant = nearest(type, telemetryEventTypes)
    throw new UsageError(
      `--type ${type}: ${meant === undefined ? telemetryEventTypes.join(', ') : `did you mean ${meant}?`}`,
    )
  }
  return types.length === 0 ? undefined : new Set(types)
}

const isPosition = (bound: Bound | undefined): bound is GivenPosition => bound !== undefined && 'position' in bound

/** Refuses a range that ends before it begins. A position and a time cannot be compared. */
function refuseBackwards(from: Bound | undefined, to: Bound | undefined): void {
  if (from === undefined || to === undefined) return
  if (isPosition(from) && isPosition(to) && !concerns(from, to.partition ?? from.partition)) {
    throw new UsageError('--from and --to are of different partitions')
  }
  const isBackwards = isPosition(from)
    ? isPosition(to) && from.position > to.position
    : !isPosition(to) && from.at > to.at
  if (isBackwards) throw new UsageError('--from is after --to')
}

/** Which events the options ask for. */
export type Wanted = Readonly<{
  isWanted: (placed: PlacedEvent) => boolean
  /** Whether events of a partition can be among them. */
  concerns: (partition: string) => boolean
  /** Throws UsageError where what is asked for is in none of these. */
  checkPartitions: (partitions: readonly string[]) => void
  /** Whether events are asked for that were before this first one, and were cut off. */
  reachesBefore: (first: FirstEvent) => boolean
  after: Position
  until: Position
}>

export function wantedOf(given: VerbContext, workspaceId: WorkspaceId | undefined): Wanted {
  const [from, to, types] = [boundOption(given, 'from'), boundOption(given, 'to'), typesOf(given)]
  refuseBackwards(from, to)
  const isAfter = (event: RecordedEvent, bound: Bound): boolean =>
    isPosition(bound) ? event.position >= bound.position : event.receivedAt >= bound.at
  const concernsAll = (partition: string): boolean =>
    [from, to].filter(isPosition).every((bound) => concerns(bound, partition))
  return {
    after: isPosition(from) ? from.position - 1 : 0,
    until: isPosition(to) ? to.position : Number.POSITIVE_INFINITY,
    concerns: concernsAll,
    checkPartitions: (partitions) => {
      for (const [name, bound] of Object.entries({ from, to }))
        if (isPosition(bound)) checkPartition(bound, partitions, name)
    },
    reachesBefore: ({ isCut, position, receivedAt }) =>
      isCut && from !== undefined && (isPosition(from) ? from.position < position : from.at < receivedAt),
    isWanted: ({ partition, event }) =>
      concernsAll(partition) &&
      (from === undefined || isAfter(event, from)) &&
      (to === undefined || !isAfter(event, isPosition(to) ? { ...to, position: to.position + 1 } : to)) &&
      (types?.has(event.type) ?? true) &&
      (workspaceId === undefined || event.workspaceId === workspaceId),
  }
}
