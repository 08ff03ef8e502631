import { AsyncLocalStorage } from 'node:async_hooks'

const storage = new AsyncLocalStorage<AbortSignal>()

/** The signal of whom the running task is for: who asks something of others on the way finds it without being handed it by each. */
export const abortScope = {
  run: <T>(signal: AbortSignal, task: () => T): T => storage.run(signal, task),
  /** Undefined outside of any scope. */
  signal: (): AbortSignal | undefined => storage.getStore(),
} as const
