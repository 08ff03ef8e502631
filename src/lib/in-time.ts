/** The value; undefined if it has not come within so many ms, or has failed. For values the caller can do without. */
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
