import type { Place } from './compose.ts'
import type { AllowanceAnswer, AllowanceCall } from './ingest/shared-allowance.ts'

/** What the parent tells a worker process. What each means is said at WorkerServer in compose.ts. */
export type ToWorker =
  | Readonly<{ kind: 'takeOver'; place: Place }>
  /** `turn` comes back in the answer. */
  | Readonly<{ kind: 'letGo'; turn: number }>
  | Readonly<{ kind: 'resume' | 'loseAllowance' | 'resign' }>
  | Readonly<{ kind: 'stop'; patienceMs: number }>
  /** Another worker asks the allowance of this one, or is answered, or has ended. */
  | Readonly<{ kind: 'allowanceCall'; from: number; call: AllowanceCall }>
  | Readonly<{ kind: 'allowanceAnswer'; answer: AllowanceAnswer }>
  | Readonly<{ kind: 'forget'; client: number }>

/** What a worker process tells the parent. That it has ended, the parent sees. */
export type FromWorker =
  /** Everything is open: it could take over. */
  | Readonly<{ kind: 'ready' }>
  | Readonly<{ kind: 'tookOver' }>
  | Readonly<{ kind: 'letGo'; turn: number; isEmpty: boolean }>
  | Readonly<{ kind: 'allowanceCall'; call: AllowanceCall }>
  | Readonly<{ kind: 'allowanceAnswer'; to: number; answer: AllowanceAnswer }>
