import type { Place } from '#src/compose.ts'

/** What the parent tells a worker process. For the meaning of each message see WorkerServer in compose.ts. */
export type ToWorker =
  | Readonly<{ kind: 'takeOver'; place: Place }>
  /** The answer repeats `turn`. */
  | Readonly<{ kind: 'letGo'; turn: number }>
  /** `ask`: is anybody there? */
  | Readonly<{ kind: 'resume' | 'resign' | 'ask' }>
  | Readonly<{ kind: 'stop'; patienceMs: number }>

/** What a worker process tells the parent. The parent sees its end by itself. */
export type FromWorker =
  /** Everything is open: it could take over. `answers`: it answers `ask`; older programs do not. */
  | Readonly<{ kind: 'ready'; answers?: true }>
  | Readonly<{ kind: 'tookOver' }>
  | Readonly<{ kind: 'letGo'; turn: number }>
  | Readonly<{ kind: 'here' }>
