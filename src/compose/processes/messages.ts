import type { Place } from '#src/compose.ts'

/** What the parent tells a worker process. What each means is said at WorkerServer in compose.ts. */
export type ToWorker =
  | Readonly<{ kind: 'takeOver'; place: Place }>
  /** `turn` comes back in the answer. */
  | Readonly<{ kind: 'letGo'; turn: number }>
  /** `ask`: is anybody there? */
  | Readonly<{ kind: 'resume' | 'resign' | 'ask' }>
  | Readonly<{ kind: 'stop'; patienceMs: number }>

/** What a worker process tells the parent. That it has ended, the parent sees. */
export type FromWorker =
  /** Everything is open: it could take over. `answers`: to `ask`; programs from before do not. */
  | Readonly<{ kind: 'ready'; answers?: true }>
  | Readonly<{ kind: 'tookOver' }>
  | Readonly<{ kind: 'letGo'; turn: number }>
  | Readonly<{ kind: 'here' }>
