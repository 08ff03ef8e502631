import { AsyncLocalStorage } from 'node:async_hooks'

const storage = new AsyncLocalStorage<AbortSignal>()

/** The abort signal of the request that the running task works for: code deep below finds it here, and not as a parameter of every call. */
export const abortScope = {
  run: <T>(signal: AbortSignal, task: () => T): T => storage.run(signal, task),
  /** Undefined outside of any scope. */
  signal: (): AbortSignal | undefined => storage.getStore(),
} as const
