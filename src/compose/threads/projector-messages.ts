import type { LeftOut } from '#projections/folding/lane.ts'
import type { Beside } from '#projections/folding/lanes.ts'
import type { ProjectionFailure } from '#projections/folding/open-lanes.ts'
import type { Retained } from '#projections/retention/retention.ts'
import type { Folders } from '../folders.ts'

/** What the embedded projector's thread is started with. */
export type ProjectorData = Pick<Folders, 'log' | 'directory' | 'indexFolder'> & Readonly<{ dataFolder: string }>

/** What a projector's thread is told. */
export type ProjectorOrder = 'start' | 'stop'

/** A projection has stopped, or is tried again; the reason in words. */
export type Failed = Omit<ProjectionFailure, 'error'> & Readonly<{ reason: string }>
/** One turn of retention. */
export type RetentionDone = Readonly<{ partition: string }> & Retained
/** What has expired could not be removed; it is tried again. */
export type RetentionFailed = Readonly<{ partition: string; reason: string }>
/** Nothing expires until `until` (ms): what was sent last was received long ago, at `since` (ms), by this machine's clock. */
export type RetentionWaits = Readonly<{ partition: string; since: number; until: number }>

/** What it tells: of the partitions that it begins or ceases to fold, of its projections, and of retention. */
export type ProjectorMessage =
  | Readonly<{ kind: 'began' | 'ceased'; partition: string }>
  | (Readonly<{ kind: 'failed' }> & Failed)
  | Readonly<{ kind: 'recovered'; projection: string }>
  | (Readonly<{ kind: 'leftOut' }> & LeftOut)
  | (Readonly<{ kind: 'beside' }> & Beside)
  | (Readonly<{ kind: 'retained' }> & RetentionDone)
  | (Readonly<{ kind: 'notRetained' }> & RetentionFailed)
  | (Readonly<{ kind: 'retentionWaits' }> & RetentionWaits)
