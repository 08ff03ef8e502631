const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/**
 * Resolves at the first signal to stop. All of them are listened to for good: Ctrl-C comes from the terminal and once more from the
 * launcher, and the second would end a process that is just stopping what it has started.
 */
export const untilSignalled = (): Promise<void> =>
  new Promise((resolve) => {
    for (const signal of signals) process.on(signal, () => resolve())
  })
