import type { Stream } from '#streams/stream.ts'
import type { Limits } from '#src/config.ts'
import type { FollowedView, Key } from '#src/directory/directory.ts'
import { partitionOf } from '#src/events/partition.ts'
import type { SharedBodyBudget } from '#src/http/body.ts'
import type { Route } from '#src/http/route.ts'
import type { Clock, Ticks } from '#src/lib/clock.ts'
import { createAdmission } from './admission.ts'
import type { AllowanceGate } from './allowance.ts'
import type { IngestContext } from './context.ts'
import { createLogsRoutes } from './logs.ts'
import { createOtlpRoutes } from './otlp.ts'
import { createRecorder } from './record.ts'
import { createRenewal } from './renew.ts'
import { createRumRoutes } from './rum.ts'

/** The log of one partition, and the span allowance of its workspaces. */
type IngestPartition = Readonly<{ stream: Stream; gate: AllowanceGate }>

type IngestOptions = Readonly<{
  directory: FollowedView
  /** In order of their numbers. */
  partitions: readonly IngestPartition[]
  limits: Limits
  budget: SharedBodyBudget
  /** Throws TransientError while the log has no room. */
  checkRoom?: (() => void) | undefined
  clock: Clock
  ticks: Ticks
  /** 32 hex characters at random. */
  newId: () => string
  /** A secret key was presented where browsers send to. */
  onExposed: (key: Key) => void
}>

/** The three ways in: OTLP traces, logs, browser events. */
export function createIngestRoutes(options: IngestOptions): readonly Route[] {
  const { partitions, limits, budget, checkRoom = () => {}, clock, newId } = options
  const renew = createRenewal(options.directory)
  const context: IngestContext = {
    admit: createAdmission(options),
    recorderOf: partitionOf(partitions.map((partition) => createRecorder({ ...partition, renew, clock }))),
    renew,
    limits,
    budget,
    checkRoom,
    clock,
    newId,
  }
  return [...createOtlpRoutes(context), ...createLogsRoutes(context), ...createRumRoutes(context)]
}
