/** The value, or undefined when it has not come after so many ms, or has failed: for what can be done without. */
export function inTime<T>(value: Promise<T>, timeoutMs: number): Promise<T | undefined> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(undefined), timeoutMs)
    const settle = (result: T | undefined): void => {
      clearTimeout(timer)
      resolve(result)
    }
    value.then(settle, () => settle(undefined))
  })
}
